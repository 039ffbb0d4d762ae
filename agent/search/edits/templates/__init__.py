"""Templates: repairs of common mistakes, one row each in `templates.toml`.

A row with `raises` or `holds` needs evidence from the failure (the exception, the values at the
crash) and belongs to the operator "reported mistake"; any other to "known mistake".
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from importlib.resources import files
from itertools import islice
from typing import Any

from agent.search.edits.constants import combined
from agent.search.edits.crashes.missing import import_place
from agent.search.edits.templates.conditions import CONDITIONS
from agent.search.edits.templates.patterns import Bound, Match, Pattern, Replacement
from agent.search.edits.templates.procedures import PROCEDURES
from agent.search.program import Program, Splice

NODES: tuple[type[ast.AST], ...] = (ast.stmt, ast.expr)
REPORTED, KNOWN = 0.2, 1.0
"""The cost of an edit, unless its row has its own."""


@dataclass(frozen=True)
class Template:
    """One common mistake and its repairs."""

    name: str
    cost: float
    edits: tuple[tuple[Pattern, Replacement], ...] = ()
    procedure: str = ""
    """The name of a function in `PROCEDURES` that is used instead of `edits`."""
    raises: str = ""
    """A regular expression for `exception: message`; its named groups fill holes."""
    holds: str = ""
    """A regular expression for the `repr` of a value before the failing line."""
    needs: str = ""
    """A regular expression for the text of the program."""
    where: Mapping[str, str] = field(default_factory=dict)
    """For a hole, or the `node` itself, the names of conditions, or `~` or `!~` and a regular
    expression that the hole's text must match or must not match."""
    imports: str = ""
    """An import that the replacements need."""
    anywhere: bool = False
    """Whether nodes outside of the line that raised are edited too."""
    everywhere: str = ""
    """Edits all places with the same text of this hole at once; `*` edits all places."""

    @property
    def is_reported(self) -> bool:
        return bool(self.raises or self.holds)

    @property
    def kinds(self) -> tuple[type[ast.AST], ...]:
        """The kinds of node that it handles."""
        if self.procedure:
            return PROCEDURES[self.procedure][0]
        return tuple(pattern.kind for pattern, _ in self.edits)

    def evidence(self, program: Program) -> dict[str, Bound] | None:
        """The holes that the failure fills, or `None` if it does not trigger the template."""
        crash, filled = program.crash, dict[str, Bound]()
        if self.needs and not re.search(self.needs, program.text):
            return None
        if self.raises:
            found = crash and re.search(self.raises, f"{crash.exception}: {crash.message}")
            if not found:
                return None
            filled |= {name: text for name, text in found.groupdict().items() if text}
        if self.holds:
            values = [text for _, text in crash.values] if crash else []
            values += [text for one in program.all_moments for _, text in one.values]
            if not any(re.search(self.holds, text) for text in values):
                return None
        return filled

    def proposed(
        self, program: Program, node: ast.AST, known: dict[str, Bound]
    ) -> Iterator[Splice]:
        """The edits at a node."""
        crash = program.crash
        if self.raises and not self.anywhere and crash and crash.line is not None and not (
            node.lineno <= crash.line <= node.end_lineno  # type: ignore[attr-defined]
        ):
            return
        if self.procedure:
            for splice in PROCEDURES[self.procedure][1](program, node, known):
                yield replace(splice, cost=splice.cost + self.cost)
            return
        for place, (found, splice) in enumerate(self._rewritten(program, node, known)):
            splices = [splice]
            if self.everywhere:
                hole = self.everywhere
                shared = {hole: found.code(hole)} if hole != "*" else {}
                splices += [
                    other for one in program.nodes if one is not node
                    for _, other in islice(self._rewritten(program, one, known | shared), 1)
                ]
            yield self._joined(program, splices, self.cost + 0.1 * place)

    def _rewritten(
        self, program: Program, node: ast.AST, known: dict[str, Bound]
    ) -> Iterator[tuple[Match, Splice]]:
        for pattern, replacement in self.edits:
            if not isinstance(node, pattern.kind) or node in program.fixed_nodes:
                continue
            found = pattern.match(program, node, known)
            if found is not None and self._where_holds(program, node, found):
                yield found, replacement.splice(program, found, 0.0)

    def _where_holds(self, program: Program, node: ast.AST, found: Match) -> bool:
        for name, conditions in self.where.items():
            if name != "node" and name not in found.holes:
                continue
            for one in conditions.split(", "):
                if one.startswith(("~", "!~")):
                    matched = re.search(one.lstrip("!~"), found.code(name))
                    if bool(matched) == one.startswith("!"):
                        return False
                elif not CONDITIONS[one](program, node, found.holes.get(name, node)):
                    return False
        return True

    def _joined(self, program: Program, splices: list[Splice], cost: float) -> Splice:
        """Combines the splices and their import into one."""
        edits = [(one.start, one.end, one.text) for one in splices]
        name = self.imports.rpartition(" ")[2]
        if name and name not in program.imported:
            at = import_place(program)
            edits.append((at, at, self.imports + program.newline))
        if len(edits) == 1:
            return replace(splices[0], cost=cost)
        separate = edits[:1]
        for one in sorted(edits[1:]):  # overlapping edits are dropped
            if all(one[1] <= start or end <= one[0] for start, end, _ in separate):
                separate.append(one)
        return combined(program, separate, cost, splices[0].line)


def _template(name: str, row: dict[str, Any]) -> Template:
    """Parses a row; `statement` says that its patterns are statements and not expressions."""
    is_reported = "raises" in row or "holds" in row
    statement = row.pop("statement", False)
    edits = tuple(
        (Pattern(before, statement=statement), Replacement(after))
        for before, after in row.pop("edits", ())
    )
    return Template(name, **{"cost": REPORTED if is_reported else KNOWN, **row}, edits=edits)


@cache
def templates() -> tuple[Template, ...]:
    """The rows of the table."""
    text = files(__package__).joinpath("templates.toml").read_text(encoding="utf-8")
    return tuple(_template(name, row) for name, row in tomllib.loads(text).items())


def reported(program: Program, node: ast.Module) -> Iterator[Splice]:
    """Edits of templates that the failure triggers, the cheapest first."""
    found = [
        splice for one in program.nodes if one not in program.fixed_nodes
        for splice in _proposed(program, one, is_reported=True)
    ]
    yield from sorted(found, key=lambda one: one.cost)


def known(program: Program, node: ast.AST) -> Iterator[Splice]:
    """Edits of templates that need no evidence."""
    yield from _proposed(program, node, is_reported=False)


def _proposed(program: Program, node: ast.AST, *, is_reported: bool) -> Iterator[Splice]:
    found = _triggered_for(program, is_reported, type(node))  # type: ignore[arg-type]
    for template, evidence in found:
        yield from template.proposed(program, node, dict(evidence))


@lru_cache(maxsize=4)
def _triggered(program: Program, is_reported: bool) -> list[tuple[Template, dict[str, Bound]]]:
    """The templates that a failure triggers, with the holes that it fills."""
    return [
        (one, evidence) for one in templates() if one.is_reported == is_reported
        if (evidence := one.evidence(program)) is not None
    ]


@lru_cache(maxsize=256)
def _triggered_for(
    program: Program, is_reported: bool, kind: type[ast.AST]
) -> list[tuple[Template, dict[str, Bound]]]:
    return [one for one in _triggered(program, is_reported) if issubclass(kind, one[0].kinds)]


__all__ = ["NODES", "Template", "known", "reported", "templates"]
