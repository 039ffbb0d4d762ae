"""Fault localisation in a project, by the coverage of tests and the names they read."""

import ast

from agent.search.project.suite import Coverage
from agent.search.project.suspects import (
    SeenTest,
    fields_beside,
    named_statements,
    names_read,
    suspects,
)

TABLES = "class Rate:\n    pass\n\n\nRATES = {}\nSIGNS = {}\n"
READERS = "def rate(of):\n    return RATES[of]\n\n\ndef sign(of):\n    return SIGNS[of]\n"
FILES = {"tables.py": TABLES, "readers.py": READERS, "idle.py": "def idle():\n    pass\n"}


def seen(first_line: int, *asked: str) -> SeenTest:
    return SeenTest(Coverage({"readers.py": {first_line: 1}}), frozenset(asked))


def suspicions(failing: list[SeenTest], passing: list[SeenTest]) -> dict[str, float]:
    found = suspects(FILES, FILES, failing, passing)
    return {one.file: round(one.suspicion, 2) for one in found}


def test_code_that_others_read_is_suspicious_with_its_readers() -> None:
    assert suspicions([seen(1)], [seen(5)] * 3) == {"readers.py": 1.0, "tables.py": 0.9}
    assert suspicions([seen(1)], [seen(1)] * 3) == {"readers.py": 0.5, "tables.py": 0.45}

    named = suspicions([seen(1, "Rate")], [seen(1, "Rate")] * 8)
    assert named == {"readers.py": 0.33, "tables.py": 0.3}
    assert suspicions([seen(1, "Rate")], [seen(1)] * 8) == {"tables.py": 0.9, "readers.py": 0.33}


def test_inherited_fields_are_among_those_of_a_class() -> None:
    texts = (
        "class Late(Wrong):\n    def __init__(self, sent):\n        self.sent = sent\n",
        "class Wrong(Exception):\n    def __init__(self, said):\n        self.said = said\n",
        "no code (",
    )
    assert {*fields_beside(texts)["said"]} == {"said", "sent"}
    assert "sent" not in fields_beside(texts[1:])["said"]


def test_a_test_is_found_by_its_node_id() -> None:
    text = "class TestA:\n    def test_b(self):\n        go(RATES)\n\ndef test_c():\n    pass\n"
    found = named_statements(text)
    assert found.keys() == {"TestA", "TestA::test_b", "test_c"}
    assert names_read(ast.walk(found["TestA::test_b"])) == {"go", "RATES"}
    assert named_statements("no code (") == {}
