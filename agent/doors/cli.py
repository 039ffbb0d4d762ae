"""The terminal face: `python -m agent …`, or `heal …` once installed.

Progress and talk go to standard error. Standard output carries data only: the patch, the
program for a task in words, or with `--json` exactly one document. Importing this module is
cheap; what a command needs is imported when it runs.
"""

from __future__ import annotations

import gc
import shlex
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from typer.core import TyperGroup

from agent.doors.conclude import conclude
from agent.doors.exits import EXIT_CODES, USAGE, Requirements
from agent.doors.memory.cli import app as memory
from agent.doors.options import (
    AcceptOption,
    ApplyOption,
    ArgvArgument,
    BudgetOption,
    CommitOption,
    ConfidenceOption,
    DeselectOption,
    DoctestsOption,
    ExcludeOption,
    ForceOption,
    GrantOption,
    IntegrityOption,
    JsonOption,
    JunitOption,
    LogOption,
    ModelOption,
    OnlyOption,
    OutOption,
    OwnProofOption,
    PathArgument,
    ProofOption,
    ProviderOption,
    PythonOption,
    ReportOption,
    RoleOption,
    RunArgument,
    SinceOption,
    StdinOption,
    TestCommandOption,
    TestsFileOption,
    TestsOption,
    TestTimeoutOption,
    TimeoutOption,
    VerboseOption,
    WithOption,
)

if TYPE_CHECKING:
    from agent.core.settings import Settings
    from agent.doors.commands import Display, OpenSession
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
NO_PROJECT = "PATH is neither a project's folder nor one of its tests"
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
    path: PathArgument = None,
    args: ArgvArgument = None,
    task: Annotated[
        str | None, typer.Option(
            "--task", metavar="TEXT", help="A task in words, or what the file PATH is to do."
        )
    ] = None,
    out: OutOption = None,
    tests: TestsOption = None,
    tests_file: TestsFileOption = None,
    deselect: DeselectOption = None,
    doctests: DoctestsOption = False,
    with_files: WithOption = None,
    python: PythonOption = None,
    stdin: StdinOption = None,
    test_cmd: TestCommandOption = "",
    test_timeout: TestTimeoutOption = 0,
    timeout: TimeoutOption = None,
    keyword: Annotated[
        str, typer.Option("-k", metavar="EXPR", help="In a project: tests as pytest's -k has them.")
    ] = "",
    last_failed: Annotated[
        bool, typer.Option("--lf", help="In a project: tests that failed in pytest's last run.")
    ] = False,
    only: OnlyOption = None,
    exclude: ExcludeOption = None,
    since: SinceOption = "",
    grant: GrantOption = False,
    report: ReportOption = None,
    junit: JunitOption = None,
    apply: ApplyOption = False,
    commit: CommitOption = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the patch and write nothing (the default).")
    ] = False,
    force: ForceOption = False,
    as_json: JsonOption = False,
    max_iterations: Annotated[
        int | None, typer.Option("--max-iterations", min=1, help="Rounds of repair (default 5).")
    ] = None,
    require_proof: ProofOption = "E1",
    require_integrity: IntegrityOption = None,
    require_confidence: ConfidenceOption = None,
    accept_proposed: AcceptOption = False,
    ask: Annotated[
        bool, typer.Option(
            "--ask", help="Where the tests leave several behaviours open, ask which is right."
        )
    ] = False,
    provider: ProviderOption = None,
    model: ModelOption = None,
    role: RoleOption = None,
    budget_usd: BudgetOption = None,
    log: LogOption = None,
    verbose: VerboseOption = False,
) -> None:
    """Heal a project whose tests fail, one Python file, or a task in words.

    PATH is a folder of the project or a test of it: its own suite judges. Of a file the tests are
    given by --tests or --tests-file.
    """

    def work(face: Display) -> int:
        from agent.doors import commands
        from agent.intake.brought import Inputs

        if dry_run and (apply or commit or out is not None):
            raise commands.Usage(
                "--dry-run writes nothing; it cannot go with --apply, --commit or --out."
            )
        writing = commands.WriteOptions(
            out, log, apply, force,
            Requirements(require_proof, require_integrity, accept_proposed),
        )
        models = commands.RunOptions(
            provider, model, role or (), max_iterations, ask or None, budget_usd, timeout,
            require_confidence=require_confidence,
        )
        from agent.doors.project import choice

        of_file = {
            "--task": task, "--tests": tests, "--tests-file": tests_file, "--with": with_files,
            "--stdin": stdin, "--doctests": doctests, "--ask": ask,
        }
        of_project = {
            "--test-cmd": test_cmd, "--test-timeout": test_timeout, "-k": keyword,
            "--lf": last_failed, "--only": only, "--exclude": exclude, "--report": report,
            "--junit": junit, "--commit": commit, "--grant": grant, "--since": since,
        }
        if path is not None and choice.is_of_project(path, brings_tests=bool(tests or tests_file)):
            _refuse(of_file, f"{path} is judged by its project's own suite")
            from agent.doors.project import heal as project

            return project.heal_project(
                _opener(context), choice.ProjectInputs(
                    keyword=keyword, last_failed=last_failed, python=python, only=only or (),
                    exclude=exclude or (), deselect=deselect or (), grant=grant,
                    test_command=test_cmd, since=since, test_timeout=test_timeout,
                ).at(path, args or ()),
                writing, face, models, project.ProjectWriting(report, junit, commit),
            )
        _refuse(of_project, NO_PROJECT)
        return commands.run(
            _opener(context),
            Inputs(path, task, tests or (), tests_file, with_files or (), python, stdin or "",
                   args or (), deselect or (), doctests),
            writing, face, models,
        )

    conclude(work, as_json=as_json, verbose=verbose)


@app.command(epilog=EPILOG)
def pytest(
    context: typer.Context,
    args: Annotated[
        list[str] | None, typer.Argument(metavar="-- ARGS", help="What pytest is given.")
    ] = None,
    python: PythonOption = None,
    only: OnlyOption = None,
    exclude: ExcludeOption = None,
    since: SinceOption = "",
    grant: GrantOption = False,
    test_timeout: TestTimeoutOption = 0,
    timeout: TimeoutOption = None,
    out: OutOption = None,
    report: ReportOption = None,
    junit: JunitOption = None,
    apply: ApplyOption = False,
    commit: CommitOption = False,
    force: ForceOption = False,
    as_json: JsonOption = False,
    log: LogOption = None,
    require_confidence: ConfidenceOption = None,
    accept_proposed: AcceptOption = False,
    provider: ProviderOption = None,
    budget_usd: BudgetOption = None,
    verbose: VerboseOption = False,
) -> None:
    """Run the project's pytest as it is, outside of the jail, and heal what fails."""

    def work(face: Display) -> int:
        from agent.doors import commands
        from agent.doors.project import after_pytest, choice
        from agent.doors.project.heal import ProjectWriting

        here = Path.cwd()
        return after_pytest.heal_pytest(
            _opener(context),
            choice.ProjectInputs(
                choice.project_around(here) or here, python=python, only=only or (),
                exclude=exclude or (), grant=grant, since=since,
                test_timeout=test_timeout,
            ),
            args or (), commands.WriteOptions(
                out, log, apply, force, Requirements(accept_proposed=accept_proposed)
            ), face,
            commands.RunOptions(
                provider, budget_usd=budget_usd, budget_s=timeout,
                require_confidence=require_confidence,
            ),
            ProjectWriting(report, junit, commit),
        )

    conclude(work, as_json=as_json, verbose=verbose)


@app.command(epilog=EPILOG)
def check(
    context: typer.Context,
    path: PathArgument = None,
    args: ArgvArgument = None,
    tests: TestsOption = None,
    tests_file: TestsFileOption = None,
    deselect: DeselectOption = None,
    doctests: DoctestsOption = False,
    with_files: WithOption = None,
    python: PythonOption = None,
    test_cmd: TestCommandOption = "",
    test_timeout: TestTimeoutOption = 0,
    grant: GrantOption = False,
    stdin: StdinOption = None,
    as_json: JsonOption = False,
    require_integrity: IntegrityOption = None,
    verbose: VerboseOption = False,
) -> None:
    """Judge a Python file by its tests, or a project by its own suite, and repair nothing."""

    def work(face: Display) -> int:
        from agent.doors import commands
        from agent.doors.project import choice
        from agent.intake.brought import Inputs

        of_file = {
            "--tests": tests, "--tests-file": tests_file, "--with": with_files, "--stdin": stdin,
            "--doctests": doctests,
        }
        if path is not None and choice.is_of_project(path, brings_tests=bool(tests or tests_file)):
            _refuse(of_file, f"{path} is judged by its project's own suite")
            from agent.doors.project import heal as project

            return project.check_project(
                choice.ProjectInputs(
                    python=python, deselect=deselect or (), grant=grant, test_command=test_cmd,
                    test_timeout=test_timeout,
                ).at(path, args or ()),
                Requirements("E0", require_integrity), face,
            )
        _refuse(
            {"--grant": grant, "--test-cmd": test_cmd, "--test-timeout": test_timeout}, NO_PROJECT
        )
        return commands.check(
            _opener(context),
            Inputs(path, None, tests or (), tests_file, with_files or (), python, stdin or "",
                   args or (), deselect or (), doctests),
            Requirements("E0", require_integrity), face,
        )

    conclude(work, as_json=as_json, verbose=verbose)


@app.command()
def replay(
    log: Annotated[str, typer.Argument(metavar="LOG", help="A file by --log; - is stdin.")],
    as_json: JsonOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Show a saved run again, with no model and no execution. Exits 0 once it is shown."""

    def work(face: Display) -> int:
        from agent.doors import commands

        return commands.replay(log, face)

    conclude(work, as_json=as_json, verbose=verbose)


@app.command(epilog=EPILOG)
def resume(
    context: typer.Context,
    run_id: Annotated[
        str | None, typer.Argument(metavar="RUN", help="A run's id; all when left out.")
    ] = None,
    as_json: JsonOption = False,
    require_proof: OwnProofOption = None,
    require_integrity: IntegrityOption = None,
    accept_proposed: AcceptOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Take up the runs whose process was ended, or answer RUN, which waits for a word of yours."""

    def work(face: Display) -> int:
        from agent.doors import commands

        least = Requirements(require_proof, require_integrity, accept_proposed)
        return commands.resume(_opener(context), run_id, least, face)

    conclude(work, as_json=as_json, verbose=verbose)


@app.command()
def runs(
    limit: Annotated[int, typer.Option("--limit", min=1, help="At most so many.")] = 20,
    as_json: JsonOption = False,
) -> None:
    """List what was run, the newest first."""

    def work(face: Display) -> int:
        from agent.doors import history

        return history.list_runs(limit, face)

    conclude(work, as_json=as_json)


@app.command()
def show(
    run: RunArgument,
    iteration: Annotated[
        int | None, typer.Option(
            "--iteration", min=0, metavar="N", help="Print the program of this iteration, and "
            "tell what it changed and which tests it passed."
        )
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show a run: each program that was judged, and how it ended."""

    def work(face: Display) -> int:
        from agent.doors import history

        return history.show_run(run, iteration, face)

    conclude(work, as_json=as_json)


@app.command()
def compare(left: RunArgument, right: RunArgument, as_json: JsonOption = False) -> None:
    """Compare two runs: how each ended, which tests differ, and the diff between their programs."""

    def work(face: Display) -> int:
        from agent.doors import history

        return history.compare_runs(left, right, face)

    conclude(work, as_json=as_json)


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
    tests: TestsOption = None,
    tests_file: TestsFileOption = None,
    deselect: DeselectOption = None,
    provider: ProviderOption = None,
    model: ModelOption = None,
    role: RoleOption = None,
    out: OutOption = None,
    log: LogOption = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
    require_proof: OwnProofOption = None,
    require_integrity: IntegrityOption = None,
    require_confidence: ConfidenceOption = None,
    accept_proposed: AcceptOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Run again from any iteration, as a run of its own, with other code, tests or models."""

    def work(face: Display) -> int:
        from agent.doors import commands, history

        return history.fork_run(
            _opener(context),
            history.ForkInputs(
                run, iteration, code or (), tests or (), tests_file, deselect or ()
            ),
            commands.WriteOptions(
                out, log, force=force,
                least=Requirements(require_proof, require_integrity, accept_proposed),
            ),
            face, commands.RunOptions(
                provider, model, role or (), require_confidence=require_confidence
            ),
        )

    conclude(work, as_json=as_json, verbose=verbose)


@app.command()
def plan(
    context: typer.Context,
    provider: ProviderOption = None,
    model: ModelOption = None,
    role: RoleOption = None,
    test: Annotated[
        bool, typer.Option(
            "--test", help="Ask each provider for its models, which tests the keys and spends "
            "nothing."
        )
    ] = False,
    as_json: JsonOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Show who would answer, at what price, in which sandbox, and where runs are kept."""

    def work(face: Display) -> int:
        from agent.doors import commands, planning

        options = commands.RunOptions(provider, model, role or ())
        return planning.plan(_opener(context), options, face, test=test)

    conclude(work, as_json=as_json, verbose=verbose)


@app.command(epilog=EPILOG)
def example(
    context: typer.Context,
    name: Annotated[
        str | None, typer.Argument(metavar="ID", help="Which one; the first when left out.")
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="List the worked tasks.")] = False,
    as_json: JsonOption = False,
    provider: ProviderOption = None,
    log: LogOption = None,
    force: ForceOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Run a worked task in words, from a first draft with a bug."""

    def work(face: Display) -> int:
        from agent.doors import commands
        from agent.intake.brought import Inputs

        if listed:
            return commands.list_examples(face)
        words = commands.example_words(name)
        face.terminal.say(f"Task: {words}", "bold")
        return commands.run(
            _opener(context), Inputs(words=words),
            commands.WriteOptions(log=log, force=force), face, commands.RunOptions(provider),
        )

    conclude(work, as_json=as_json, verbose=verbose)


@app.command()
def mcp(
    context: typer.Context,
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="The one that its tools may read.")
    ] = Path("."),
    verbose: VerboseOption = False,
) -> None:
    """Serve healing to other programs, over the Model Context Protocol on stdin and stdout."""

    def work(face: Display) -> int:
        from agent.doors import mcp_server
        from agent.doors.exits import HEALED

        mcp_server.serve(folder, _opener(context))
        return HEALED

    conclude(work, verbose=verbose)


def _refuse(options: Mapping[str, object], why: str) -> None:
    """Refuses options that would do nothing."""
    from agent.doors.commands import Usage

    for name, value in options.items():
        if value:
            raise Usage(f"{name} cannot be used here: {why}.")


def main() -> None:
    """The console script."""
    # Looking for garbage in what modules make takes a quarter of the time it takes to load them,
    # and as much again at the end; a command's process is over soon.
    gc.set_threshold(COLLECT_AFTER)
    try:
        app()
    finally:
        gc.freeze()


def _opener(context: typer.Context) -> OpenSession:
    """How a session is opened: as the caller of the app says, else the real one."""
    return cast("OpenSession", context.obj or _open_session)


def _open_session(settings: Settings) -> AbstractAsyncContextManager[Session]:
    # What a session needs takes a while to import: bad input is told before that.
    from agent.run.session import open_session

    return open_session(settings)
