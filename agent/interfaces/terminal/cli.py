"""The terminal: `python -m agent …`, or `heal …`. Standard output carries data only; what a command
needs is imported when it runs."""

from __future__ import annotations

import gc
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from agent.interfaces.exits import EXIT_CODES, USAGE
from agent.interfaces.terminal.memory.cli import app as memory
from agent.interfaces.terminal.options import Invocation, command, do

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
    from agent.interfaces.project.selection import project_around

    project = project_around(Path.cwd())
    if project is None:
        typer.echo(context.get_help())
        typer.echo(f"\n{NOWHERE.format(Path.cwd())}", err=True)
        raise typer.Exit(USAGE)
    do(run, context, {"path": str(project)})


@command(
    app, "path args task out tests tests_file deselect doctests with_files python stdin test_cmd "
    "test_timeout timeout keyword last_failed only exclude since grant report junit apply commit "
    "dry_run force as_json max_iterations require_proof require_integrity require_confidence "
    "accept_proposed ask provider model role budget_usd log verbose", epilog=EPILOG,
)
def run(call: Invocation) -> int:
    """Heal a project whose tests fail, one Python file, or a task in words.

    PATH is a folder of the project or a test of it: its own suite judges. Of a file the tests are
    given by --tests or --tests-file.
    """
    from agent.interfaces.terminal import commands

    return commands.run(call.opener, call.request, call.face)


@command(
    app, "pytest_args python only exclude since grant test_timeout timeout out report junit apply "
    "commit force as_json log require_confidence accept_proposed provider budget_usd verbose",
    epilog=EPILOG,
)
def pytest(call: Invocation) -> int:
    """Run the project's pytest as it is, outside of the jail, and heal what fails."""
    from agent.interfaces.project import after_pytest

    request = replace(call.request, args=call.given["pytest_args"] or ())
    return after_pytest.heal_pytest(call.opener, request, call.face)


@command(
    app, "path args tests tests_file deselect doctests with_files python test_cmd test_timeout "
    "grant stdin as_json require_integrity verbose", epilog=EPILOG,
)
def check(call: Invocation) -> int:
    """Judge a Python file by its tests, or a project by its own suite, and repair nothing."""
    from agent.interfaces.terminal import commands

    return commands.check(call.opener, replace(call.request, require_proof="E0"), call.face)


@command(app, "saved as_json verbose")
def replay(call: Invocation) -> int:
    """Show a saved run again, with no model and no execution. Exits 0 once it is shown."""
    from agent.interfaces.terminal import commands

    return commands.replay(call.given["saved"], call.face)


@command(
    app, "unfinished as_json require_proof require_integrity accept_proposed verbose",
    epilog=EPILOG,
)
def resume(call: Invocation) -> int:
    """Take up the runs whose process was ended, or answer RUN, which waits for a word of yours."""
    from agent.interfaces.terminal import commands

    return commands.resume(call.opener, call.given["unfinished"], call.request, call.face)


@command(app, "limit as_json")
def runs(call: Invocation) -> int:
    """List what was run, the newest first."""
    from agent.interfaces.terminal import history

    return history.list_runs(call.given["limit"], call.face)


@command(app, "run iteration as_json")
def show(call: Invocation) -> int:
    """Show a run: each program that was judged, and how it ended."""
    from agent.interfaces.terminal import history

    return history.show_run(call.given["run"], call.given["iteration"], call.face)


@command(app, "left right as_json")
def compare(call: Invocation) -> int:
    """Compare two runs: how each ended, which tests differ, and the diff between their programs."""
    from agent.interfaces.terminal import history

    return history.compare_runs(call.given["left"], call.given["right"], call.face)


@command(
    app, "parent start code tests tests_file deselect provider model role out log force as_json "
    "require_proof require_integrity require_confidence accept_proposed verbose", epilog=EPILOG,
)
def fork(call: Invocation) -> int:
    """Run again from any iteration, as a run of its own, with other code, tests or models."""
    from agent.interfaces.terminal import history

    parent, start, code = (call.given[name] for name in ("parent", "start", "code"))
    return history.fork_run(call.opener, parent, start, code or (), call.request, call.face)


@command(app, "provider model role test as_json verbose")
def plan(call: Invocation) -> int:
    """Show who would answer, at what price, in which sandbox, and where runs are kept."""
    from agent.interfaces.terminal import planning

    return planning.plan(call.opener, call.request, call.face, test=call.given["test"])


@command(app, "name listed as_json provider log force verbose", epilog=EPILOG)
def example(call: Invocation) -> int:
    """Run a worked task in words, from a first draft with a bug."""
    from agent.interfaces.terminal import commands

    if call.given["listed"]:
        return commands.list_examples(call.face)
    return commands.run_example(call.opener, call.given["name"], call.request, call.face)


@command(app, "folder verbose")
def mcp(call: Invocation) -> int:
    """Serve healing to other programs, over the Model Context Protocol on stdin and stdout."""
    from agent.interfaces import mcp_server

    return mcp_server.serve(call.given["folder"], call.opener)


def main() -> None:
    """The console script."""
    # Looking for garbage in what modules make takes a quarter of the time it takes to load them,
    # and as much again at the end; a command's process is over soon.
    gc.set_threshold(COLLECT_AFTER)
    try:
        app()
    finally:
        gc.freeze()
