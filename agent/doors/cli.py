"""The terminal face: `python -m agent …`, or `heal …` once installed.

Progress and talk go to standard error. Standard output carries data only: the patch, the
program for a task in words, or with `--json` exactly one document. Importing this module is
cheap; what a command needs is imported when it runs.
"""

from __future__ import annotations

import gc
import shlex
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from agent.doors import options
from agent.doors.conclude import conclude
from agent.doors.exits import EXIT_CODES, USAGE
from agent.doors.memory.cli import app as memory

if TYPE_CHECKING:
    from agent.core.settings import Settings
    from agent.doors.commands import Display
    from agent.doors.prepared import OpenSession
    from agent.doors.request import HealRequest
    from agent.run.session import Session

HELP = """Runs Python in a jail, finds what is broken, repairs it and proves the repair.

A repair is shown as a patch; nothing is written without --apply or --out."""

# The mark keeps the lines of a paragraph apart.
EPILOG = "\b\nExit codes:\n" + "\n".join(
    f"{code:>5}  {words}" for code, words in EXIT_CODES.items()
)


class Commands(TyperGroup):
    """The commands; for a file or folder in place of one, the error names `run`."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:  # click's or typer's own types
        if args[0] not in self.commands and Path(args[0]).exists():
            ctx.fail(f"{args[0]!r} is no command; to heal it: heal run {shlex.join(args)}")
        return super().resolve_command(ctx, args)


app = typer.Typer(
    name="heal", help=HELP, epilog=EPILOG, cls=Commands,
    # The styled help imports rich, and takes twice as long to appear.
    rich_markup_mode=None, pretty_exceptions_enable=False,
)
app.add_typer(memory, name="memory")

NOWHERE = (
    "There is no project around {}: go to one that has tests, or name what is to be healed, as in "
    "`heal run FOLDER` or `heal run FILE --tests \"assert …\"`."
)
COLLECT_AFTER = 200_000
"""Objects that are made before Python looks for garbage among them."""


def _print_version(asked: bool) -> None:
    if not asked:
        return
    from importlib.metadata import PackageNotFoundError, version

    try:
        typer.echo(f"heal {version('self-healing-code-agent')}")
    except PackageNotFoundError:
        typer.echo("heal, run from a checkout that is not installed")
    raise typer.Exit


@app.callback(invoke_without_command=True)
def start(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        )
    ] = False,
) -> None:
    if context.invoked_subcommand is not None:
        return
    from agent.doors.project.choice import project_around

    project = project_around(Path.cwd())
    if project is None:
        typer.echo(context.get_help())
        typer.echo(f"\n{NOWHERE.format(Path.cwd())}", err=True)
        raise typer.Exit(USAGE)
    context.invoke(run, context, path=str(project))


@app.command(epilog=EPILOG)
def run(
    context: typer.Context,
    path: options.PathArgument = None,
    args: options.ArgvArgument = None,
    task: Annotated[
        str | None, typer.Option(
            "--task", metavar="TEXT", help="A task in words, or what the file PATH is to do."
        )
    ] = None,
    out: options.OutOption = None,
    tests: options.TestsOption = None,
    tests_file: options.TestsFileOption = None,
    deselect: options.DeselectOption = None,
    doctests: options.DoctestsOption = False,
    with_files: options.WithOption = None,
    python: options.PythonOption = None,
    stdin: options.StdinOption = None,
    test_cmd: options.TestCommandOption = "",
    test_timeout: options.TestTimeoutOption = 0,
    timeout: options.TimeoutOption = None,
    keyword: Annotated[
        str, typer.Option("-k", metavar="EXPR", help="In a project: tests as pytest's -k has them.")
    ] = "",
    last_failed: Annotated[
        bool, typer.Option("--lf", help="In a project: tests that failed in pytest's last run.")
    ] = False,
    only: options.OnlyOption = None,
    exclude: options.ExcludeOption = None,
    since: options.SinceOption = "",
    grant: options.GrantOption = False,
    report: options.ReportOption = None,
    junit: options.JunitOption = None,
    apply: options.ApplyOption = False,
    commit: options.CommitOption = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the patch and write nothing (the default).")
    ] = False,
    force: options.ForceOption = False,
    as_json: options.JsonOption = False,
    max_iterations: Annotated[
        int | None, typer.Option("--max-iterations", min=1, help="Rounds of repair (default 5).")
    ] = None,
    require_proof: options.ProofOption = "E1",
    require_integrity: options.IntegrityOption = None,
    require_confidence: options.ConfidenceOption = None,
    accept_proposed: options.AcceptOption = False,
    ask: Annotated[
        bool, typer.Option(
            "--ask", help="Where the tests leave several behaviours open, ask which is right."
        )
    ] = False,
    provider: options.ProviderOption = None,
    model: options.ModelOption = None,
    role: options.RoleOption = None,
    budget_usd: options.BudgetOption = None,
    log: options.LogOption = None,
    verbose: options.VerboseOption = False,
) -> None:
    """Heal a project whose tests fail, one Python file, or a task in words.

    PATH is a folder of the project or a test of it: its own suite judges. Of a file the tests are
    given by --tests or --tests-file.
    """

    from agent.doors import commands

    _conclude(locals(), commands.run)


@app.command(epilog=EPILOG)
def pytest(
    context: typer.Context,
    args: Annotated[
        list[str] | None, typer.Argument(metavar="-- ARGS", help="What pytest is given.")
    ] = None,
    python: options.PythonOption = None,
    only: options.OnlyOption = None,
    exclude: options.ExcludeOption = None,
    since: options.SinceOption = "",
    grant: options.GrantOption = False,
    test_timeout: options.TestTimeoutOption = 0,
    timeout: options.TimeoutOption = None,
    out: options.OutOption = None,
    report: options.ReportOption = None,
    junit: options.JunitOption = None,
    apply: options.ApplyOption = False,
    commit: options.CommitOption = False,
    force: options.ForceOption = False,
    as_json: options.JsonOption = False,
    log: options.LogOption = None,
    require_confidence: options.ConfidenceOption = None,
    accept_proposed: options.AcceptOption = False,
    provider: options.ProviderOption = None,
    budget_usd: options.BudgetOption = None,
    verbose: options.VerboseOption = False,
) -> None:
    """Run the project's pytest as it is, outside of the jail, and heal what fails."""

    from agent.doors.project import after_pytest

    _conclude(locals(), after_pytest.heal_pytest)


@app.command(epilog=EPILOG)
def check(
    context: typer.Context,
    path: options.PathArgument = None,
    args: options.ArgvArgument = None,
    tests: options.TestsOption = None,
    tests_file: options.TestsFileOption = None,
    deselect: options.DeselectOption = None,
    doctests: options.DoctestsOption = False,
    with_files: options.WithOption = None,
    python: options.PythonOption = None,
    test_cmd: options.TestCommandOption = "",
    test_timeout: options.TestTimeoutOption = 0,
    grant: options.GrantOption = False,
    stdin: options.StdinOption = None,
    as_json: options.JsonOption = False,
    require_integrity: options.IntegrityOption = None,
    verbose: options.VerboseOption = False,
) -> None:
    """Judge a Python file by its tests, or a project by its own suite, and repair nothing."""

    from agent.doors import commands

    _conclude({**locals(), "require_proof": "E0"}, commands.check)


@app.command()
def replay(
    context: typer.Context,
    log: Annotated[str, typer.Argument(metavar="LOG", help="A file by --log; - is stdin.")],
    as_json: options.JsonOption = False,
    verbose: options.VerboseOption = False,
) -> None:
    """Show a saved run again, with no model and no execution. Exits 0 once it is shown."""

    from agent.doors import commands

    _conclude({**locals(), "log": None}, lambda _, __, face: commands.replay(log, face))


@app.command(epilog=EPILOG)
def resume(
    context: typer.Context,
    run_id: Annotated[
        str | None, typer.Argument(metavar="RUN", help="A run's id; all when left out.")
    ] = None,
    as_json: options.JsonOption = False,
    require_proof: options.OwnProofOption = None,
    require_integrity: options.IntegrityOption = None,
    accept_proposed: options.AcceptOption = False,
    verbose: options.VerboseOption = False,
) -> None:
    """Take up the runs whose process was ended, or answer RUN, which waits for a word of yours."""

    from agent.doors import commands

    _conclude(
        locals(), lambda opener, request, face: commands.resume(opener, run_id, request, face)
    )


@app.command()
def runs(
    context: typer.Context,
    limit: Annotated[int, typer.Option("--limit", min=1, help="At most so many.")] = 20,
    as_json: options.JsonOption = False,
) -> None:
    """List what was run, the newest first."""

    from agent.doors import history

    _conclude(locals(), lambda _, __, face: history.list_runs(limit, face))


@app.command()
def show(
    context: typer.Context,
    run: options.RunArgument,
    iteration: Annotated[
        int | None, typer.Option(
            "--iteration", min=0, metavar="N", help="Print the program of this iteration, and "
            "tell what it changed and which tests it passed."
        )
    ] = None,
    as_json: options.JsonOption = False,
) -> None:
    """Show a run: each program that was judged, and how it ended."""

    from agent.doors import history

    _conclude(locals(), lambda _, __, face: history.show_run(run, iteration, face))


@app.command()
def compare(
    context: typer.Context, left: options.RunArgument, right: options.RunArgument,
    as_json: options.JsonOption = False,
) -> None:
    """Compare two runs: how each ended, which tests differ, and the diff between their programs."""

    from agent.doors import history

    _conclude(locals(), lambda _, __, face: history.compare_runs(left, right, face))


@app.command(epilog=EPILOG)
def fork(
    context: typer.Context,
    run: Annotated[
        str, typer.Argument(metavar="RUN", help="A run's id, or its beginning; see `runs`.")
    ],
    iteration: Annotated[
        int, typer.Option("--iteration", min=0, metavar="N", help="Start with its program.")
    ],
    code: Annotated[
        list[str] | None, typer.Option(
            "--code", metavar="FILE", help="Start with this text instead; PATH=FILE for one file "
            "of several. Repeatable."
        )
    ] = None,
    tests: options.TestsOption = None,
    tests_file: options.TestsFileOption = None,
    deselect: options.DeselectOption = None,
    provider: options.ProviderOption = None,
    model: options.ModelOption = None,
    role: options.RoleOption = None,
    out: options.OutOption = None,
    log: options.LogOption = None,
    force: options.ForceOption = False,
    as_json: options.JsonOption = False,
    require_proof: options.OwnProofOption = None,
    require_integrity: options.IntegrityOption = None,
    require_confidence: options.ConfidenceOption = None,
    accept_proposed: options.AcceptOption = False,
    verbose: options.VerboseOption = False,
) -> None:
    """Run again from any iteration, as a run of its own, with other code, tests or models."""

    from agent.doors import history

    _conclude(locals(), lambda opener, request, face: history.fork_run(
        opener, run, iteration, code or (), request, face
    ))


@app.command()
def plan(
    context: typer.Context,
    provider: options.ProviderOption = None,
    model: options.ModelOption = None,
    role: options.RoleOption = None,
    test: Annotated[
        bool, typer.Option(
            "--test", help="Ask each provider for its models, which tests the keys and spends "
            "nothing."
        )
    ] = False,
    as_json: options.JsonOption = False,
    verbose: options.VerboseOption = False,
) -> None:
    """Show who would answer, at what price, in which sandbox, and where runs are kept."""

    from agent.doors import planning

    _conclude(
        locals(), lambda opener, request, face: planning.plan(opener, request, face, test=test)
    )


@app.command(epilog=EPILOG)
def example(
    context: typer.Context,
    name: Annotated[
        str | None, typer.Argument(metavar="ID", help="Which one; the first when left out.")
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="List the worked tasks.")] = False,
    as_json: options.JsonOption = False,
    provider: options.ProviderOption = None,
    log: options.LogOption = None,
    force: options.ForceOption = False,
    verbose: options.VerboseOption = False,
) -> None:
    """Run a worked task in words, from a first draft with a bug."""

    from agent.doors import commands

    _conclude(
        locals(), lambda opener, request, face: commands.list_examples(face) if listed
        else commands.run_example(opener, name, request, face)
    )


@app.command()
def mcp(
    context: typer.Context,
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="The one that its tools may read.")
    ] = Path("."),
    verbose: options.VerboseOption = False,
) -> None:
    """Serve healing to other programs, over the Model Context Protocol on stdin and stdout."""

    from agent.doors import mcp_server

    _conclude(locals(), lambda opener, _, __: mcp_server.serve(folder, opener))


def _conclude(
    given: Mapping[str, Any], work: Callable[[OpenSession, HealRequest, Display], int]
) -> None:
    """Does what a command is for, with the request that its options make: each is called as its
    field. Ends the process with an exit code."""
    from agent.doors.request import HealRequest

    known = {one.name for one in fields(HealRequest)}

    def asked(face: Display) -> int:
        request = HealRequest(**{
            name: value for name, value in given.items() if name in known and value is not None
        })
        # As the caller of the app says, else the real one.
        return work(given["context"].obj or _open_session, request, face)

    conclude(asked, as_json=given.get("as_json", False), verbose=given.get("verbose", False))


def main() -> None:
    """The console script."""
    # Looking for garbage in what modules make takes a quarter of the time it takes to load them,
    # and as much again at the end; a command's process is over soon.
    gc.set_threshold(COLLECT_AFTER)
    try:
        app()
    finally:
        gc.freeze()


def _open_session(settings: Settings) -> AbstractAsyncContextManager[Session]:
    # What a session needs takes a while to import: bad input is told before that.
    from agent.run.session import open_session

    return open_session(settings)
