"""Tests that run together: snippets, or those of one test file."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

from agent.core.domain import WEIGHTS, Script, TestCase
from agent.verify import belief
from agent.verify.subject import Subject
from sandbox.types import Json


@dataclass(frozen=True)
class Group:
    """Tests and their subject. Each test has a key: its number, or its pytest node id."""

    subject: Subject
    tests: Sequence[TestCase]
    code: str | None = None
    """The text of their file; `None` for snippets."""
    output: str = ""
    """What the program prints, for the snippets that read it."""

    @cached_property
    def path(self) -> str:
        return self.subject.test_path([*self.tests])

    def only_calls_program(self, key: str) -> bool:
        """Whether a test only calls the program, and shares no other state with it."""
        code = self.tests[int(key)].code if self.code is None else self.code
        return belief.only_calls_program(code, self.subject.all_modules)

    def reads_output(self, key: str) -> bool:
        """Whether a test is a snippet that reads what the program prints."""
        test = self.tests[int(key)] if self.code is None else None
        return isinstance(test, Script) and test.uses_output

    def counts(self, key: str) -> bool:
        return self.code is not None or WEIGHTS[self.tests[int(key)].origin] > 0

    def remaining(self, keys: Sequence[str], done: Collection[str]) -> dict[str, TestCase]:
        """The tests that must still run: those of `keys`, or all, without `done`. For a file, all
        its tests are returned, since its nodes are unknown before collection."""
        return {
            key: test for key, test in ((str(n), test) for n, test in enumerate(self.tests))
            if self.code is not None or (key not in done and (not keys or key in keys))
        }

    def payload(self, keys: Sequence[str], done: Collection[str]) -> dict[str, Json]:
        if self.code is None:
            return {"output": self.output, "tests": [
                {
                    "name": key, "code": test.code, "import_missing": not isinstance(test, Script),
                    "reads_output": isinstance(test, Script) and test.uses_output,
                }
                for key, test in self.remaining(keys, done).items()
            ]}
        nodes: list[Json] = [[node, []] for node in keys] or [
            [test.node, [*test.excluded_nodes]] for test in self.tests if isinstance(test, Script)
        ]
        return {"file": self.path, "nodes": nodes, "done": [*done]}
