"""The layers: which package may import which, read from the source itself; and the size check."""

from __future__ import annotations

import ast
import functools
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import yaml

from agent.verify import jail_modules

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
    {"core"}, {"target"}, {"verify"}, {"search"}, {"proof"}, {"memory", "log"},
    {"report", "operation"}, {"tools"}, {"iteration"}, {"propose"}, {"planning"}, {"loop.steps"},
    {"loop.postgres_checkpoints"}, {"loop.graph"},
    {"loop.resources", "loop.fork"}, {"loop.run"}, {"loop.session"}, {"interfaces"},
    {"__main__"},
]
"""Packages of `agent/` from the lowest layer up; each imports lower ones only."""



def written() -> list[Path]:
    """The modules of the product, without programs that are data."""
    data = re.compile(r"/cases/|^evaluation/(bench|programs)/")
    return [
        path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))
        if not data.search(path.relative_to(ROOT).as_posix())
    ]


def test_a_docstring_describes_arguments_that_there_are() -> None:
    texts = {path: path.read_text("utf-8") for path in written()}
    for path in (path for path, text in texts.items() if " Args:\n" in text):
        for node in ast.walk(ast.parse(texts[path])):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            _, _, described = (ast.get_docstring(node) or "").partition("Args:\n")
            section = re.split(r"\n(?=\S)", described)[0]
            given = {one.arg for one in ast.walk(node.args) if isinstance(one, ast.arg)}
            unknown = {*re.findall(r"^    \**(\w+):", section, re.MULTILINE)} - given
            assert not unknown, f"{path}:{node.lineno} {node.name}: {unknown}"


def test_no_two_classes_have_one_name() -> None:
    names = [
        name for path in written()
        for name in re.findall(r"^class (\w+)", path.read_text("utf-8"), re.MULTILINE)
    ]
    assert len(names) > 500
    assert [name for name, count in Counter(names).items() if count > 1] == []


WITHOUT_IO = [
    "agent/core/domain.py",
    "agent/core/events.py",
    "agent/search/",
    "agent/report/result.py",
    "agent/report/timeline.py",
    "agent/report/waiting.py",
    "agent/target/test_analysis/held_out.py",
    "agent/report/words.py",
    "agent/loop/steps/prove.py",
    "demo/serving/access.py",
    "demo/serving/visitors.py",
    "demo/browser_state.py",
    "demo/models/choice.py",
    "demo/models/plans.py",
    "demo/options.py",
    "demo/panels/views.py",
    "demo/views/bench.py",
    "demo/views/cards.py",
    "demo/views/diff.py",
    "demo/views/escape.py",
    "demo/views/findings.py",
    "demo/views/matrix.py",
    "demo/views/panes.py",
    "demo/views/programs.py",
    "demo/views/tabs.py",
    "demo/views/timeline.py",
    "demo/views/trace.py",
]
RUNS_CANDIDATES = ("agent/search/precheck/", "agent/search/project/")
"""The parts of the search that run anything."""
IO_MODULES = {
    "asyncio", "os", "pathlib", "shutil", "socket", "sqlite3", "subprocess", "tempfile",
    "urllib",
}

GRADIO_MODULES = {
    "demo/handlers.py", "demo/panels/handlers.py", "demo/phases.py", "demo/web.py",
    "demo/serving/api.py", "demo/serving/server.py", "demo/serving/sessions.py",
    *(f"demo/layout/{name}.py"
      for name in ("inputs", "output", "panels", "parts", "theme")),
}
LANGGRAPH_MODULES = {
    "agent/loop/graph.py", "agent/loop/postgres_checkpoints.py", "agent/loop/steps/gate.py",
}

DATA = (
    "evaluation/bench/", "evaluation/programs/", "sandbox/attacks/cases/",
    "sandbox/contract/cases/",
)
"""Programs that are data and belong to no package."""


@functools.cache
def sources() -> dict[str, str]:
    """Each module's place and text."""
    return {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
        for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))
        if not path.relative_to(ROOT).as_posix().startswith(DATA)
    }


def imports(text: str, *, typing: bool = True) -> Iterator[str]:
    """Dotted names of all modules that a text imports, at any level; with `typing=False`,
    without those that only a type checker sees."""
    waiting: list[ast.AST] = [ast.parse(text)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING" and not typing:
            continue
        for part in ("body", "orelse", "finalbody", "handlers", "cases"):
            waiting += getattr(node, part, [])
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "a relative import"
            ours = node.module in ("sandbox.inside", "_judge", "_judge.programs")
            yield from (f"{node.module}.{a.name}" for a in node.names) if ours else [
                str(node.module)
            ]


@functools.cache
def all_imports() -> list[tuple[str, str]]:
    """Each source's place and the name of one module that it imports."""
    return [
        (place, name) for place, text in sources().items() for name in sorted({*imports(text)})
    ]


def test_nothing_imports_upward() -> None:
    offences = [
        f"{place} imports {name}" for place, name in all_imports()
        if name.split(".")[0] in set(PACKAGES) - MAY_IMPORT[place.split("/")[0]]
    ]
    assert offences == []


def test_inside_the_agent_nothing_imports_upward_either() -> None:
    layers = {package: level for level, row in enumerate(INSIDE_AGENT) for package in row}

    def package(dotted: str) -> str:
        parts = dotted.split(".")
        return next((one for one in (".".join(parts[1:3]), *parts[1:2]) if one in layers), "")

    offences = []
    for place, name in all_imports():
        here, other = package(place.removesuffix(".py").replace("/", ".")), package(name)
        if place.startswith("agent/") and name.startswith("agent.") and here:
            assert other, f"{name} belongs to no layer"
            if other != here and layers[other] >= layers[here]:
                offences.append(f"{place} imports {name}")
    assert offences == []


def test_a_framework_is_imported_by_its_own_modules_only() -> None:
    seen = {
        library: {place for place, name in all_imports() if name.split(".")[0] == library}
        for library in ("langgraph", "gradio")
    }
    assert seen == {"langgraph": LANGGRAPH_MODULES, "gradio": GRADIO_MODULES}


def test_pure_modules_do_no_input_or_output() -> None:
    seen = {
        pure: [
            (place, name) for place, name in all_imports()
            if place.startswith(pure) and not place.startswith(RUNS_CANDIDATES)
        ]
        for pure in WITHOUT_IO
    }
    assert all(seen.values()), seen.keys()
    assert not [
        f"{place} imports {name}" for found in seen.values() for place, name in found
        if name.split(".")[0] in IO_MODULES
    ]


def foreign(text: str) -> set[str]:
    """What a module needs beside the standard library, when it runs."""
    return {
        name for name in imports(text, typing=False)
        if name.partition(".")[0] not in sys.stdlib_module_names
    }


def test_a_fork_server_needs_the_standard_library_and_the_files_beside_it() -> None:
    beside = {f"sandbox.inside.{one}" for one in INSIDE}
    needs = {name: foreign(sources()[f"sandbox/inside/{name}.py"]) - beside for name in INSIDE}
    assert not any(needs.values()), needs


def test_what_goes_into_a_job_as_one_file_needs_no_other() -> None:
    assert foreign(sources()["sandbox/inside/guest.py"]) == set()
    assert foreign(sources()["sandbox/inside/canaries.py"]) == set()


def test_what_the_judge_ships_needs_the_standard_library_and_itself() -> None:
    # The programs that need pytest are shipped with it, and numpy is met by those who have it.
    allowed = {*jail_modules.modules(with_pytest=True), "numpy"}
    # The plain run uses pytest's hooks, and a project's test runs as pytest runs it.
    with_pytest = {
        "pytest", "_pytest.runner", "_pytest", "_pytest.assertion", "_pytest.mark",
        "_pytest.outcomes", "_pytest.tmpdir",
    }

    for name, text in jail_modules.modules(with_pytest=False).items():
        assert foreign(text) <= allowed, name
    for name, text in jail_modules.modules(with_pytest=True).items():
        assert foreign(text) <= allowed | with_pytest, name


def test_steps_do_not_import_each_other_but_for_shared_words() -> None:
    assert {
        name for place, name in all_imports()
        if place.startswith("agent/loop/steps/") and name.startswith("agent.loop.steps.")
    } <= {"agent.loop.steps.specify"}


@pytest.mark.parametrize(("lines", "reason", "code"), [
    (3, "", 0), (1, "", 0), (4, "", 1), (4, "Size: it does more\n", 0),
])
def test_growth_needs_a_reason(tmp_path: Path, lines: int, reason: str, code: int) -> None:
    def git(*words: str) -> None:
        identity = ("-c", "user.name=a", "-c", "user.email=a@b")
        subprocess.run(["git", *identity, *words], cwd=tmp_path, check=True, capture_output=True)

    git("init")
    decision = tmp_path / "docs/decisions/1.md"
    decision.parent.mkdir(parents=True)
    for count, text in ((3, "# One\n"), (lines, f"# One\n\n{reason}")):
        (tmp_path / "a.py").write_text("x = 1\n" * count)
        decision.write_text(text)
        git("add", ".")
        git("commit", "--allow-empty", "-m", str(count))

    done = subprocess.run(
        [sys.executable, ROOT / ".ci/size"], cwd=tmp_path, capture_output=True, text=True,
    )

    assert done.returncode == code
    assert done.stdout.startswith(f"size: product {lines} lines of Python ({lines - 3:+})")


def long_lines(*texts: str) -> set[str]:
    return {
        line.strip() for text in texts for line in text.split("\n") if len(line.strip()) >= 30
    }


def examples() -> dict[str, list[dict[str, str]]]:
    loaded: dict[str, list[dict[str, str]]] = yaml.safe_load(
        (ROOT / "demo/examples.yaml").read_text(encoding="utf-8")
    )
    assert len(loaded["drafts"]) == 6
    return loaded


def holding(texts: Mapping[str, str], needles: set[str]) -> list[tuple[str, str]]:
    """Where one of the needles stands."""
    return [
        (place, needle) for place, text in texts.items() for needle in needles if needle in text
    ]


def test_no_string_of_a_demo_task_stands_in_the_engine() -> None:
    drafts = examples()["drafts"]
    needles = {str(task[key]).strip() for task in drafts for key in ("id", "task")}
    needles |= long_lines(*(task["draft"] for task in drafts))
    assert holding({
        place: text for place, text in sources().items() if place.startswith(("agent/", "llm/"))
    }, needles) == []


def test_no_prompt_holds_an_answer_of_a_demo_or_a_benchmark() -> None:
    """Not a line of their programs and tests, and no name that they define and no one says."""
    programs = [
        str(one[key]) for kind in ("cards", "drafts") for one in examples()[kind]
        for key in ("code", "tests", "task", "draft") if key in one
    ]
    for suite in ("seen", "unseen", "blind", "thin"):
        rows = (ROOT / f"evaluation/bench/{suite}.jsonl").read_text("utf-8").splitlines()
        assert len(rows) >= 50
        for row in map(json.loads, rows):
            programs += [row["buggy"], row["fixed"], *row["tests"], *row["held_out"]]
    names = {
        name for text in programs
        for name in re.findall(r"\b(?:def|class) ([a-z]+_\w+|[A-Z][a-z]+[A-Z]\w*)", text)
    }
    prompts = {path.name: path.read_text("utf-8") for path in (ROOT / "prompts").glob("*.yaml")}
    assert (len(names) > 50, len(prompts)) == (True, 9)
    assert holding(prompts, long_lines(*programs)) == []
    assert {word for text in prompts.values() for word in re.findall(r"\w+", text)} & names == set()
