"""Turns the evidence about a test into its verdict: pytest's outcome, and whether a pass counts.

| plain run | repeated plain calls | verdict |
|---|---|---|
| does not pass | not repeated | pytest's outcome |
| is skipped or xfailed, with a tamper indicator | not repeated | not believed |
| passes | all its checks are such calls, and they hold | `isolated` |
| passes | not all its checks are such calls | `in-process`, after canaries |
| passes | one gives another answer, twice | not believed |
| passes, with a tamper indicator | any | not believed |

All functions are pure.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, get_args

from agent.core.domain import NEUTRAL_STATUSES, Integrity, Status, TestCase, Verdict
from agent.core.trees import parse
from agent.verify.tamper_indicators import message_of

MAX_SHOWN_CHARS = 2_000
CONTRADICTS = (
    "it behaves differently under test: without pytest and the test, the same calls give other "
    "results"
)
PARTLY_IN_PROCESS = (
    "some of its checks are not calls with plain values, so they ran in the program's process"
)

Row = Mapping[str, Any]


@dataclass(frozen=True)
class RunEvidence:
    plain: Row
    indicators: Sequence[str] = ()
    """Messages of the tamper indicators observed at run time."""
    is_isolated: bool = False
    """Whether all its checks were compared outside of the program's process, and hold."""
    contradicted: str = ""
    """Message about a plain call that gives another answer in a process without tests."""
    vacuous: bool = False
    text_indicator: str = ""
    """A tamper indicator in the program's text that lowers a pass to `in-process`."""
    access_message: str = ""
    """Code in the program that could reach into its tests; an in-process pass is not believed."""


def passes(row: Row) -> bool:
    return row.get("status") == "passed"


def unchecked(row: Row) -> bool:
    """Whether a test that contains checks ended without one that held."""
    return bool(row.get("checking")) and not row.get("checks")


STATELESS = frozenset(
    "pytest unittest math cmath itertools functools operator string re json collections decimal "
    "datetime fractions statistics typing __future__ textwrap".split()
)
_STATEFUL = (
    "monkeypatch", "capsys", "capfd", "caplog", "recwarn", "tmp_path", "mock", "patch", "fixture",
    "setUp", "setup_", "pytest_plugins", "global ", "__dict__", "vars(", "setattr", "register",
    "warns", "Warns", "Logs", "context(",
)
_STATEFUL_MODULES = sys.stdlib_module_names - STATELESS


@lru_cache(maxsize=1024)
def only_calls_program(code: str, modules: frozenset[str]) -> bool:
    """Whether a test only calls the program (`modules`), and shares no other state with it."""
    try:
        tree = parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    imported = {
        alias.asname or alias.name for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name)))) | ast.Assign(
                value=ast.Call(func=ast.Attribute(value=ast.Name(id=name)))
            ) if name in imported:
                return False  # such as `variable.set(5)`, an object that both share
        if isinstance(node, ast.Import | ast.ImportFrom):
            named = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [
                node.module or ""
            ]
            if any(
                name not in modules and name.partition(".")[0] not in STATELESS for name in named
            ):
                return False
        elif isinstance(node, ast.Name) and node.id in _STATEFUL_MODULES:
            return False  # snippets may use modules without importing them
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and any(
            "parametrize" not in ast.unparse(decorator) for decorator in node.decorator_list
        ):
            return False
    return not any(word in code for word in _STATEFUL)


def verdict(test: TestCase, name: str, evidence: RunEvidence) -> Verdict:
    row = evidence.plain
    doubt, integrity, reason = "", None, ""
    if passes(row):
        doubt = _doubt(evidence)
        if not doubt:
            integrity, reason = _integrity(evidence)
        if integrity == "in-process" and evidence.access_message:
            doubt, integrity, reason = evidence.access_message, None, ""
    elif _status(row) in NEUTRAL_STATUSES:
        doubt = _joined(evidence.indicators)
    wall_s = row.get("wall_s")
    return Verdict(
        name=name, test=test.name, origin=test.origin, status=_status(row), integrity=integrity,
        reason=reason, disbelieved=doubt, vacuous=evidence.vacuous and integrity is not None,
        call=get_text(row, "call"), expected=get_text(row, "expected"), got=get_text(row, "got"),
        message=f"not believed: {doubt}" if doubt else get_text(row, "message"),
        type_differs=row.get("type_differs") is True,
        wall_s=float(wall_s) if isinstance(wall_s, int | float) else 0.0,
    )


def compared(test: TestCase, row: Row) -> Verdict:
    """The verdict on an example that the host itself compared."""
    found = verdict(test, test.name, RunEvidence(row, is_isolated=True))
    return found.model_copy(update={"integrity": "isolated"})


def _doubt(evidence: RunEvidence) -> str:
    is_unchecked = unchecked(evidence.plain) and not evidence.vacuous
    indicators = [*evidence.indicators, *([message_of("no-check")] if is_unchecked else ())]
    against = f"{CONTRADICTS}: {evidence.contradicted}" if evidence.contradicted else ""
    return _joined(indicators) or against[:MAX_SHOWN_CHARS]


def _joined(indicators: Sequence[str]) -> str:
    return "; ".join(dict.fromkeys(indicators))[:MAX_SHOWN_CHARS]


def _integrity(evidence: RunEvidence) -> tuple[Integrity, str]:
    if evidence.text_indicator:
        return "in-process", evidence.text_indicator
    return ("isolated", "") if evidence.is_isolated else ("in-process", PARTLY_IN_PROCESS)


def _status(row: Row) -> Status:
    return row["status"] if row.get("status") in get_args(Status) else "error"


def get_text(row: Row, key: str) -> str:
    """The capped text under this key of a message; empty where it has none."""
    value = row.get(key)
    return value[:MAX_SHOWN_CHARS] if isinstance(value, str) else ""
