"""The floors: who may import whom, read from the source itself."""

from __future__ import annotations

import ast
import functools
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.checks import shipping

ROOT = Path(__file__).parent.parent
INSIDE = sorted(path.stem for path in (ROOT / "sandbox/inside").glob("[a-z]*.py"))
PACKAGES = ("agent", "demo", "evaluation", "llm", "sandbox")

MAY_IMPORT = {
    "sandbox": {"sandbox"},
    "llm": {"llm"},
    "agent": {"agent", "llm", "sandbox"},
    "demo": {"demo", "agent", "llm", "sandbox"},
    "evaluation": {"evaluation", "agent", "llm", "sandbox", "demo"},
}

INSIDE_AGENT = [
    {"domain", "promptness", "trees", "common_ends", "literals", "pytest_settings"},
    {"events", "state", "settings", "intake", "repair", "withheld", "writeback",
     "wording"},
    {"screenings", "store", "checks", "memory", "result", "dotenv", "drafts", "faultlog", "models",
     "spending", "uploads", "waiting"},
    {"rivalry"},
    {"bus", "searching", "proving", "context", "exits", "terminal", "attempts"},
    {"flakiness", "recollection", "roles"},
    {"rewriting"},
    {"strategies"},
    {"rules", "nodes"},
    {"graph"},
    {"session"},
    {"commands", "library"},
    {"memory_shown", "planning"},
    {"memory_commands"},
    {"memory_cli"},
    {"cli", "__init__"},
    {"__main__"},
]
"""Rooms of `agent/` from the ground up; each imports lower rooms only."""

WITHOUT_IO = [
    "agent/domain.py",
    "agent/events.py",
    "agent/repair/",
    "agent/result.py",
    "agent/waiting.py",
    "agent/withheld.py",
    "agent/nodes/prove.py",
    "demo/escape.py",
    "demo/kept.py",
    "demo/place.py",
    "demo/render.py",
    "demo/strangers.py",
    "demo/view.py",
    "demo/wanted.py",
]
IO_MODULES = {
    "asyncio", "os", "pathlib", "shutil", "socket", "sqlite3", "subprocess", "tempfile",
    "urllib",
}

LANGGRAPH_ROOMS = {
    "agent/graph.py", "agent/session.py", "agent/nodes/ask.py", "agent/nodes/gate.py",
    "evaluation/measures/steps.py",  # the floor that our steps are measured beside
}


def sources() -> list[Path]:
    return sorted(
        path for package in PACKAGES for path in (ROOT / package).rglob("*.py")
    )


def imported(path: Path) -> set[str]:
    """Dotted names of all modules a file imports, at any level.

    Only what is shipped into a jail as a package of its own imports relatively.
    """
    names: set[str] = set()
    here = path.relative_to(ROOT).with_suffix("").parts
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0 or here[:2] == ("agent", "checks"), f"{path} imports relatively"
            above = here[: -node.level] if node.level else ()
            names.add(".".join([*above, *([node.module] if node.module else [])]))
    return names


@functools.cache
def all_imports() -> list[tuple[str, str]]:
    """Each source's place and the name of one module that it imports."""
    return [
        (path.relative_to(ROOT).as_posix(), name) for path in sources()
        for name in sorted(imported(path))
    ]


def test_nothing_imports_upward() -> None:
    offences = [
        f"{place} imports {name}" for place, name in all_imports()
        if name.split(".")[0] in set(PACKAGES) - MAY_IMPORT[place.split("/")[0]]
    ]
    assert offences == []


def room(dotted: str) -> str:
    return dotted.split(".")[1] if "." in dotted else "__init__"


def test_inside_the_agent_nothing_imports_upward_either() -> None:
    floor = {name: level for level, names in enumerate(INSIDE_AGENT) for name in names}
    offences = []
    for place, name in all_imports():
        if place.startswith("agent/") and name.split(".")[0] == "agent":
            here, other = room(place.removesuffix(".py").replace("/", ".")), room(name)
            # The package itself imports the library when asked for it.
            if other not in (here, "__init__") and floor[other] >= floor[here]:
                offences.append(f"{place} imports {name}")
    assert offences == []


@pytest.mark.parametrize(("library", "rooms"), [
    ("langgraph", LANGGRAPH_ROOMS), ("gradio", {"demo/web.py"}),
])
def test_a_framework_appears_in_its_own_rooms_only(library: str, rooms: set[str]) -> None:
    assert {place for place, name in all_imports() if name.split(".")[0] == library} == rooms


def test_pure_rooms_do_no_input_or_output() -> None:
    seen = {
        room: [(place, name) for place, name in all_imports() if place.startswith(room)]
        for room in WITHOUT_IO
    }
    assert all(seen.values()), seen.keys()
    assert not [
        f"{place} imports {name}" for found in seen.values() for place, name in found
        if name.split(".")[0] in IO_MODULES
    ]


def needed(text: str) -> Iterator[str]:
    """Dotted names that a module imports when it runs: not what only a type checker sees."""
    waiting: list[ast.AST] = [ast.parse(text)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        waiting += ast.iter_child_nodes(node)
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "a relative import"
            ours = node.module in ("sandbox.inside", "_judge", "_judge.programs")
            yield from (f"{node.module}.{a.name}" for a in node.names) if ours else [
                str(node.module)
            ]


def foreign(text: str) -> set[str]:
    return {
        name for name in needed(text) if name.partition(".")[0] not in sys.stdlib_module_names
    }


@pytest.mark.parametrize("name", INSIDE)
def test_a_fork_server_needs_the_standard_library_and_what_is_laid_beside_it(name: str) -> None:
    text = (ROOT / "sandbox/inside" / f"{name}.py").read_text(encoding="utf-8")

    assert foreign(text) <= {f"sandbox.inside.{one}" for one in INSIDE}


@pytest.mark.parametrize("name", ["guest", "canaries"])
def test_what_goes_into_a_job_as_one_file_needs_no_other(name: str) -> None:
    assert foreign((ROOT / "sandbox/inside" / f"{name}.py").read_text(encoding="utf-8")) == set()


@pytest.mark.parametrize("with_pytest", [False, True])
def test_what_the_judge_ships_needs_the_standard_library_and_itself(with_pytest: bool) -> None:
    shipped = shipping.modules(with_pytest)
    # The programs that need pytest are shipped with it, and numpy is met by those who have it.
    allowed = {*shipping.modules(with_pytest=True), "numpy"}
    if with_pytest:
        allowed |= {"pytest", "_pytest.runner"}
        # Where the plain witness has pytest tell of its checks and of who steers it.
        allowed |= {"_pytest", "_pytest.assertion", "_pytest.mark"}

    for name, text in shipped.items():
        assert foreign(text) <= allowed, name


def test_nodes_do_not_import_each_other_but_for_shared_words() -> None:
    for path in (ROOT / "agent/nodes").glob("*.py"):
        others = {name for name in imported(path) if name.startswith("agent.nodes.")}
        assert others <= {"agent.nodes.specify"}, path


def long_lines(*texts: str) -> set[str]:
    return {
        line.strip() for text in texts for line in text.split("\n") if len(line.strip()) >= 30
    }


def test_no_string_of_a_demo_task_stands_in_the_engine() -> None:
    yaml = pytest.importorskip("yaml")
    examples = yaml.safe_load((ROOT / "demo/examples.yaml").read_text(encoding="utf-8"))
    needles = {str(task[key]).strip() for task in examples["drafts"] for key in ("id", "task")}
    needles |= long_lines(*(task["draft"] for task in examples["drafts"]))
    assert len(examples["drafts"]) == 6
    for path in [*(ROOT / "agent").rglob("*.py"), *(ROOT / "llm").rglob("*.py")]:
        text = path.read_text(encoding="utf-8")
        assert not [needle for needle in needles if needle in text], path


def test_no_prompt_holds_an_answer_of_a_demo_or_a_benchmark() -> None:
    """Not a line of their programs and tests, and no name that they define and no one says."""
    yaml = pytest.importorskip("yaml")
    examples = yaml.safe_load((ROOT / "demo/examples.yaml").read_text(encoding="utf-8"))
    programs = [
        str(one[key]) for kind in ("cards", "drafts") for one in examples[kind]
        for key in ("code", "tests", "task", "draft") if key in one
    ]
    rows = [
        json.loads(line) for suite in ("seen", "unseen")
        for line in (ROOT / f"evaluation/bench/{suite}.jsonl").read_text("utf-8").splitlines()
    ]
    assert len(rows) > 50
    for row in rows:
        programs += [row["buggy"], row["fixed"], *row["tests"], *row["held_out"]]
    for line in (ROOT / "evaluation/bench/thin.jsonl").read_text("utf-8").splitlines():
        thin = json.loads(line)
        programs += [thin["program"], thin["fixed"], thin["tests"], thin["truth"]]
    needles = long_lines(*programs)
    names = {
        name for text in programs
        for name in re.findall(r"\b(?:def|class) ([a-z]+_\w+|[A-Z][a-z]+[A-Z]\w*)", text)
    }
    assert len(names) > 50
    prompts = sorted((ROOT / "prompts").glob("*.yaml"))
    assert len(prompts) == 8
    for path in prompts:
        text = path.read_text(encoding="utf-8")
        assert not [needle for needle in needles if needle in text], path
        assert not {*re.findall(r"\w+", text)} & names, path
