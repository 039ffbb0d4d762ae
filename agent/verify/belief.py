"""From what was seen of a test to its verdict: how plain pytest says it comes out, and how far a
pass is believed.

| the plain run | its plain calls, repeated | the verdict |
|---|---|---|
| does not pass | not repeated | as pytest says |
| is skipped or the like, and the program was seen acting on it | not repeated | not believed |
| passes | all its checks are such calls, and they hold | `isolated` |
| passes | not all its checks are such calls | `in-process`, after canaries |
| passes | one is answered otherwise, twice | not believed |
| passes, and the program was seen acting on the test | any | not believed |

All of this is pure: rows go in, a verdict comes out.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, get_args

from agent.core.domain import EXCLUDED, Integrity, Status, TestCase, Verdict
from agent.core.trees import parse
from agent.verify.tamper_indicators import words

SHOWN = 2_000
CONTRADICTS = (
    "it behaves otherwise when it is tested: where neither pytest nor the test is, the same calls "
    "are answered otherwise"
)
WITHIN = "not all that it checks are calls with plain values, so its checks ran beside the program"

Row = Mapping[str, Any]


@dataclass(frozen=True)
class PassEvidence:
    """All that was seen of one test."""

    plain: Row
    indicators: Sequence[str] = ()
    """What the program was seen doing to it, in words."""
    is_isolated: bool = False
    """All its checks were compared outside of the program's process, and hold."""
    contradicted: str = ""
    """A plain call of it that is answered otherwise where no test is, in words."""
    vacuous: bool = False
    """It also passes on spoilt answers."""
    written: str = ""
    """A sign in the program's text that lowers a pass to `in-process`."""
    reaching: str = ""
    """What in the program's text could reach into its tests; it forbids belief in one process."""


def passes(row: Row) -> bool:
    """Whether the plain run passes."""
    return row.get("status") == "passed"


def unchecked(row: Row) -> bool:
    """Whether a test in which a check stands came to its end without one that held."""
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


_KEEPING = sys.stdlib_module_names - STATELESS


@lru_cache(maxsize=1024)
def keeps_to_calls(code: str, modules: frozenset[str]) -> bool:
    """Whether a test's text asks the program (`modules`) by calls alone, and keeps no state."""
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
        elif isinstance(node, ast.Name) and node.id in _KEEPING:
            return False  # a snippet uses such a module without importing it
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and any(
            "parametrize" not in ast.unparse(decorator) for decorator in node.decorator_list
        ):
            return False
    return not any(word in code for word in _STATEFUL)


def verdict(test: TestCase, name: str, seen: PassEvidence) -> Verdict:
    """What was seen, as a value."""
    row = seen.plain
    doubt, integrity, reason = "", None, ""
    if passes(row):
        doubt = _doubt(seen)
        if not doubt:
            integrity, reason = _integrity(seen)
        if integrity == "in-process" and seen.reaching:
            doubt, integrity, reason = seen.reaching, None, ""
    elif _status(row) in EXCLUDED:
        doubt = _joined(seen.indicators)
    wall_s = row.get("wall_s")
    return Verdict(
        name=name, test=test.name, origin=test.origin, status=_status(row), integrity=integrity,
        reason=reason, doubt=doubt, vacuous=seen.vacuous and integrity is not None,
        call=text_in(row, "call"), expected=text_in(row, "expected"), got=text_in(row, "got"),
        message=f"not believed: {doubt}" if doubt else text_in(row, "message"),
        type_differs=row.get("type_differs") is True,
        wall_s=float(wall_s) if isinstance(wall_s, int | float) else 0.0,
    )


def compared(test: TestCase, row: Row) -> Verdict:
    """A verdict on an example that the host itself compared: nobody else has a word in it."""
    seen = verdict(test, test.name, PassEvidence(row, is_isolated=True))
    return seen.model_copy(update={"integrity": "isolated"})


def _doubt(seen: PassEvidence) -> str:
    indicators = [*seen.indicators]
    if unchecked(seen.plain) and not seen.vacuous:
        indicators.append(words("no-check"))
    against = f"{CONTRADICTS}: {seen.contradicted}" if seen.contradicted else ""
    return _joined(indicators) or against[:SHOWN]


def _joined(indicators: Sequence[str]) -> str:
    return "; ".join(dict.fromkeys(indicators))[:SHOWN]


def _integrity(seen: PassEvidence) -> tuple[Integrity, str]:
    if seen.written:
        return "in-process", seen.written
    return ("isolated", "") if seen.is_isolated else ("in-process", WITHIN)


def _status(row: Row) -> Status:
    status: Status = "error"
    if row.get("status") in get_args(Status):
        status = row["status"]
    return status


def text_in(row: Row, key: str) -> str:
    """A text that a process sent under this key, capped; empty if it sent none."""
    value = row.get(key)
    return value[:SHOWN] if isinstance(value, str) else ""
