"""The options of the terminal's commands, each declared once, and how a command takes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, fields
from inspect import Parameter, Signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from agent.interfaces.terminal.conclude import conclude

if TYPE_CHECKING:
    from agent.core.settings import Settings
    from agent.interfaces.preparation import OpenSession
    from agent.interfaces.request import HealRequest
    from agent.interfaces.terminal.commands import Display
    from agent.loop.session import Session

# As `agent.core.domain` has them, which takes long to import.
ProofLevel = Literal["E0", "E1", "E2", "E3", "E4"]
Integrity = Literal["in-process", "isolated"]


def _value(kind: Any, flag: str, metavar: str | None, help_: str, **more: Any) -> Any:
    return kind | None, None, typer.Option(flag, metavar=metavar, help=help_, **more)


def _text(flag: str, metavar: str, help_: str) -> Any:
    return str, "", typer.Option(flag, metavar=metavar, help=help_)


def _switch(*flags_and_help: str) -> Any:
    *flags, help_ = flags_and_help
    return bool, False, typer.Option(*flags, help=help_)


def _argument(kind: Any, metavar: str, help_: str, default: Any = ...) -> Any:
    return kind, default, typer.Argument(metavar=metavar, help=help_)


_RUN = "A run's id, or its beginning; see `runs`."
_RUN_OR_FILE = f"{_RUN} Or a file by --log."
OPTIONS: dict[str, tuple[Any, Any, Any]] = {
    "path": _argument(
        str | None, "PATH", "The Python file; - is standard input. A folder, or a test as "
        "`tests/test_a.py::test_b`, means the project that it lies in.", None,
    ),
    "args": _argument(
        list[str] | None, "-- ARGS", "Arguments of the program; of a project further tests, and "
        "arguments of its pytest.", None,
    ),
    "pytest_args": _argument(list[str] | None, "-- ARGS", "What pytest is given.", None),
    "task": _value(str, "--task", "TEXT", "A task in words, or what the file PATH is to do."),
    "out": _value(
        Path, "--out", "FILE", "Write the healed program here; of a project the patch."
    ),
    "tests": _value(
        list[str], "--tests", "EXPR", "Assert code; it sees the program's names, and what the "
        "program printed as `output`. Repeatable.",
    ),
    "tests_file": _value(Path, "--tests-file", "FILE", "A file of tests."),
    "deselect": _value(
        list[str], "--deselect", "ID", "A test to leave out, by its name or pytest's id. "
        "Repeatable.",
    ),
    "doctests": _switch("--doctests", "Count doctests that fail before the repair too."),
    "with_files": _value(
        list[Path], "--with", "PATH", "A file that the program imports, or a package's folder. "
        "Repeatable.",
    ),
    "python": _value(
        str, "--python", "PATH", "An interpreter or environment whose packages the program "
        "imports.",
    ),
    "stdin": _value(str, "--stdin", "TEXT|@FILE", "The program's standard input."),
    "test_cmd": _text(
        "--test-cmd", "CMD", "In a project: `python …` or `pytest …` in the place of its suite; "
        "the exit code is the verdict. Slow: each candidate is a fresh run.",
    ),
    "test_timeout": (float, 0, typer.Option(
        "--test-timeout", min=0, metavar="SECONDS", show_default=False, help="In a project: how "
        "long one test may take (default: `timeout` in [tool.heal], or 120).",
    )),
    "timeout": _value(
        float, "--timeout", "SECONDS", "How long a heal may take, models and all (default 120, "
        "and 240 more for models); the search gets its share.", min=1,
    ),
    "keyword": _text("-k", "EXPR", "In a project: tests as pytest's -k has them."),
    "last_failed": _switch("--lf", "In a project: tests that failed in pytest's last run."),
    "only": _value(
        list[str], "--only", "PATH", "In a project: edit nothing but this. Repeatable."
    ),
    "exclude": _value(
        list[str], "--exclude", "PATH", "In a project: edit nothing of this. Repeatable."
    ),
    "since": _text(
        "--since", "REV", "In a project: suspect first what changed since this commit (default: "
        "since the last one).",
    ),
    "grant": _switch(
        "--grant", "In a project: give its tests the variables and folders that [tool.heal] of "
        "its pyproject.toml asks for.",
    ),
    "report": _value(
        Path, "--report", "FILE", "In a project: write the heal for a pull request, in Markdown."
    ),
    "junit": _value(
        Path, "--junit", "FILE", "In a project: write the final suite as JUnit XML."
    ),
    "apply": _switch(
        "--apply", "Write the repair to PATH; a backup stays beside it, and that of a project's "
        "files in the data folder.",
    ),
    "commit": _switch(
        "--commit", "In a project: commit the repair on a new branch heal/…; your branch, index "
        "and files stay as they are, no hook is run, nothing is pushed.",
    ),
    "dry_run": _switch("--dry-run", "Show the patch and write nothing (the default)."),
    "force": _switch(
        "--force", "Let --out, --log, --report and --junit write over a file that is there."
    ),
    "as_json": _switch("--json", "Print one JSON document on standard output."),
    "max_iterations": _value(
        int, "--max-iterations", None, "Rounds of repair (default 5).", min=1
    ),
    "require_proof": _value(
        ProofLevel, "--require-proof", None, "The least proof that counts as healed (default E1, "
        "or what the run was started with); what passes as it came needs none.",
    ),
    "require_integrity": _value(
        Integrity, "--require-integrity", None, "The least integrity that counts: who could have "
        "had a word in the verdict (default: any that is believed).",
    ),
    "require_confidence": _value(
        float, "--require-confidence", "P", "The least estimated probability of being right with "
        "which a patch counts as healed (default 0.9).", min=0, max=1,
    ),
    "accept_proposed": _switch(
        "--accept-proposed", "Exit with 0, and write, for a patch that is only proposed."
    ),
    "ask": _switch(
        "--ask", "Where the tests leave several behaviours open, ask which is right."
    ),
    "provider": _value(
        str, "--provider", "NAME", "Who answers: auto, mock (no model), anthropic, ollama, "
        "huggingface, openai, groq ...",
    ),
    "model": _value(str, "--model", "NAME", "The provider's model, for all its roles."),
    "role": _value(
        list[str], "--role", "ROLE=PROVIDER/MODEL", "Give a role to another model, or to no "
        "model: --role critic=mock. Repeatable.",
    ),
    "budget_usd": _value(
        float, "--budget-usd", "USD", "Dollars it may spend on models (default 0.50).", min=0
    ),
    "log": _value(Path, "--log", "FILE", "Write the run's log, for `replay`."),
    "verbose": _switch("--verbose", "-v", "Every step, and tracebacks of internal errors."),
    "saved": _argument(str, "LOG", "A file by --log; - is stdin."),
    "unfinished": _argument(str | None, "RUN", "A run's id; all when left out.", None),
    "limit": (int, 20, typer.Option("--limit", min=1, help="At most so many.")),
    "run": _argument(str, "RUN", _RUN_OR_FILE),
    "iteration": _value(
        int, "--iteration", "N", "Print the program of this iteration, and tell what it changed "
        "and which tests it passed.", min=0,
    ),
    "left": _argument(str, "RUN", _RUN_OR_FILE),
    "right": _argument(str, "RUN", _RUN_OR_FILE),
    "parent": _argument(str, "RUN", _RUN),
    "start": (int, ..., typer.Option(
        "--iteration", min=0, metavar="N", help="Start with its program.",
    )),
    "code": _value(
        list[str], "--code", "FILE", "Start with this text instead; PATH=FILE for one file of "
        "several. Repeatable.",
    ),
    "test": _switch(
        "--test", "Ask each provider for its models, which tests the keys and spends nothing."
    ),
    "name": _argument(str | None, "ID", "Which one; the first when left out.", None),
    "listed": _switch("--list", "List the worked tasks."),
    "folder": _argument(Path, "FOLDER", "The one that its tools may read.", Path(".")),
    "key": _argument(str, "ID", "As `memory list` names it."),
    "keys": _argument(list[str] | None, "ID...", "As `memory list` names them.", None),
    "everything": _switch("--all", "Forget everything."),
    "sure": _switch("--yes", "Do not ask."),
    "target": _argument(str, "FILE", "- is standard output."),
    "overwrite": _switch("--force", "Overwrite FILE."),
    "source": _argument(Path, "FILE", "An export."),
    "trusted": _switch("--trust", "Rank its fixes as your own, with their record."),
    "with_fixes": _switch("--with-fixes", "Share fixes too: they hold your code."),
}
"""By field of `HealRequest`, or a name that its command knows: type, default, and
arguments for typer."""


@dataclass(frozen=True)
class Invocation:
    """A command as it was typed."""

    opener: OpenSession
    face: Display
    given: Mapping[str, Any]

    @property
    def request(self) -> HealRequest:
        """What its options ask for."""
        from agent.interfaces.request import HealRequest

        known = {one.name for one in fields(HealRequest)}
        return HealRequest(**{
            name: value for name, value in self.given.items()
            if name in known and value is not None
        })


def command(
    app: typer.Typer, names: str, *, name: str | None = None, epilog: str | None = None
) -> Callable[[Callable[[Invocation], int]], Callable[[Invocation], int]]:
    """Declares a function as a command of `app` that takes the options of these names."""

    def declared(work: Callable[[Invocation], int]) -> Callable[[Invocation], int]:
        def called(context: typer.Context, **given: Any) -> None:
            do(work, context, given)

        taken = [Parameter("context", Parameter.KEYWORD_ONLY, annotation=typer.Context)]
        for one in names.split():
            kind, default, info = OPTIONS[one]
            taken.append(Parameter(
                one, Parameter.KEYWORD_ONLY, annotation=Annotated[kind, info],
                default=Parameter.empty if default is ... else default,
            ))
        called.__doc__ = work.__doc__
        called.__annotations__ = {one.name: one.annotation for one in taken}
        called.__signature__ = Signature(taken)  # type: ignore[attr-defined]  # typer reads it
        app.command(name or work.__name__, epilog=epilog)(called)
        return work

    return declared


def do(work: Callable[[Invocation], int], context: typer.Context, given: Mapping[str, Any]) -> None:
    """Does what a command is for, and ends the process with its exit code."""
    # As the caller of the app says, else the real one.
    opener = context.obj or _open_session
    conclude(
        lambda face: work(Invocation(opener, face, given)), as_json=given.get("as_json", False),
        verbose=given.get("verbose", False),
    )


def _open_session(settings: Settings) -> AbstractAsyncContextManager[Session]:
    # What a session needs takes a while to import: bad input is reported before that.
    from agent.loop.session import open_session

    return open_session(settings)
