"""What a user brings, as every door hands it on: the one thing that a task is made of.

Paths are those of the project, from the folder that its modules are imported from. A door that
brings more of a project, several modules or several files of tests, brings it here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from agent.core.domain import File
from agent.intake.project import module_stem
from agent.intake.source import SourceFile

PASTED = "solution.py"


@dataclass(frozen=True)
class TestText:
    """Tests as text, and what to call them when they are wrong."""

    __test__ = False

    text: str
    name: str = "the tests"
    path: str = ""
    """Where the file lies in its project; empty for what was pasted."""

    def fails_to(self, verb: str) -> str:
        """`The tests do not parse`, `test_sum.py does not parse`."""
        if self.name == "the tests":
            return f"The tests do not {verb}"
        return f"{self.name} does not {verb}"


@dataclass(frozen=True)
class Inputs:
    """What a user submits, as typed at a terminal. Each field is an option of `heal run`, whose
    help says what it means."""

    path: str | None = None
    """`-` is standard input."""
    args: Sequence[str] = ()
    task: str | None = None
    tests: Sequence[str] = ()
    tests_file: Path | None = None
    with_files: Sequence[Path] = ()
    python: str | None = None
    stdin: str = ""
    """Or `@FILE`."""
    deselect: Sequence[str] = ()
    doctests: bool = False
    within: Path | None = None
    """No file outside of this folder is taken along."""

    @property
    def title(self) -> str:
        """What a run over these is called in a list of runs."""
        return self.path or (self.task or "")[:80]


@dataclass(frozen=True)
class Brought:
    """A program or words, tests as text, and the files beside them."""

    code: str | None = None
    entry: str = PASTED
    words: str = ""
    tests: tuple[TestText, ...] = ()
    support: tuple[File, ...] = ()
    stdin: str = ""
    argv: tuple[str, ...] = ()
    sites: tuple[str, ...] = ()
    """Folders of packages."""
    deselect: tuple[str, ...] = ()
    """Ids of tests that are left out."""
    doctests: bool = False
    """Whether doctests that fail count beside other tests."""
    notices: tuple[str, ...] = ()
    source: SourceFile | None = None
    """The file that a healed program is written back to."""

    @property
    def program(self) -> str:
        return self.code or ""

    @property
    def stem(self) -> str:
        """The name by which tests call the program."""
        return module_stem(self.entry)

    @property
    def beside(self) -> frozenset[str]:
        """Names that lead to the files beside: from the top, or from the folder a test lies in."""
        paths = [PurePosixPath(file.path).parts for file in self.support]
        return frozenset(
            name.removesuffix(".py") for parts in paths for name in (parts[0], parts[-1])
        )

    def with_plain_lines(self) -> Brought:
        """The same with `\\n` at all line ends."""
        return replace(
            self, code=self.code if self.code is None else _plain_lines(self.code),
            tests=tuple(replace(test, text=_plain_lines(test.text)) for test in self.tests),
        )


def _plain_lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")
