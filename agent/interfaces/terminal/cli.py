"""The terminal commands: `python -m agent …`, or `heal …`. Standard output carries data only. Each
command imports its dependencies when it runs."""

from __future__ import annotations

import gc
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from agent.interfaces import installed_version
from agent.interfaces.exits import EXIT_CODES, USAGE
from agent.interfaces.terminal.memory.cli import app as memory
from agent.interfaces.terminal.options import Invocation, command, do

HELP = """Runs Python in a jail, finds what is broken, repairs it and proves the repair.

A repair is shown as a patch. Nothing is written without --apply, --commit or --out."""

# click keeps the line breaks of a paragraph that starts with this character.
EPILOG = "\b\nExit codes:\n" + "\n".join(
    f"{code:>5}  {words}" for code, words in EXIT_CODES.items()
)


class Commands(TyperGroup):
    """The command group. If a path is given instead of a command, the error suggests `run`."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:  # click's or typer's own types
        if args[0] not in self.commands and Path(args[0]).exists():
            ctx.fail(f"{args[0]!r} is not a command. To heal it, use: heal run {shlex.join(args)}")
        return super().resolve_command(ctx, args)


app = typer.Typer(
    name="heal", help=HELP, epilog=EPILOG, cls=Commands,
    # The styled help imports rich, and takes twice as long to appear.
    rich_markup_mode=None, pretty_exceptions_enable=False,
)
app.add_typer(memory, name="memory")

NO_PROJECT_FOUND = (
    "No project was found in or above {}. Change to a project with tests, or name what to heal: "
    "`heal run FOLDER` or `heal run FILE --tests \"assert …\"`."
)
COLLECT_AFTER = 200_000


def _print_version(asked: bool) -> None:
    if not asked:
        return
    version = installed_version()
    typer.echo(f"heal {version}" if version else "heal, run from a checkout that is not installed")
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
        typer.echo(f"{NO_PROJECT_FOUND.format(Path.cwd())}\n", err=True)
        typer.echo(context.get_help())
        raise typer.Exit(USAGE)
    do(run, context, {"path": str(project)})


@command(
    app, "path args task out tests tests_file deselect doctests with_files python stdin test_cmd "
    "test_timeout timeout keyword last_failed only exclude since grant report junit sarif "
    "apply commit dry_run force watch as_json output_format max_iterations require_proof "
    "require_integrity require_confidence accept_proposed ask provider model role budget_usd "
    "log verbose", epilog=EPILOG,
)
def run(call: Invocation) -> int:
    """Heal a project whose tests fail, one Python file, or a task in words.

    If PATH is a folder or a test, the project's own test suite judges the repair. For a single
    file, give the tests with --tests or --tests-file.
    """
    from agent.interfaces.terminal import commands

    return commands.run(call.opener, call.request, call.display)


@command(
    app, "pytest_args python only exclude since grant test_timeout timeout out report junit sarif "
    "apply commit force as_json output_format log require_confidence accept_proposed "
    "provider budget_usd verbose",
    epilog=EPILOG,
)
def pytest(call: Invocation) -> int:
    """Run the project's pytest outside the jail, and heal the tests that fail."""
    from agent.interfaces.project import after_pytest

    request = replace(call.request, args=call.given["pytest_args"] or ())
    return after_pytest.heal_pytest(call.opener, request, call.display)


@command(
    app, "path args tests tests_file deselect doctests with_files python test_cmd test_timeout "
    "grant stdin as_json output_format require_integrity verbose", epilog=EPILOG,
)
def check(call: Invocation) -> int:
    """Run the tests of a Python file or a project in the jail, without a repair."""
    from agent.interfaces.terminal import commands

    return commands.check(call.opener, replace(call.request, require_proof="E0"), call.display)


@command(app, "saved as_json verbose")
def replay(call: Invocation) -> int:
    """Show a saved run again, without calling a model or running code. Exits with 0."""
    from agent.interfaces.terminal import commands

    return commands.replay(call.given["saved"], call.display)


@command(
    app, "unfinished as_json require_proof require_integrity accept_proposed verbose",
    epilog=EPILOG,
)
def resume(call: Invocation) -> int:
    """Resume interrupted runs, or answer the question that RUN waits for."""
    from agent.interfaces.terminal import commands

    return commands.resume(call.opener, call.given["unfinished"], call.request, call.display)


@command(app, "limit as_json")
def runs(call: Invocation) -> int:
    """List the saved runs, newest first."""
    from agent.interfaces.terminal import history

    return history.list_runs(call.given["limit"], call.display)


@command(app, "run iteration as_json")
def show(call: Invocation) -> int:
    """Show a run: its outcome and every program that was tested."""
    from agent.interfaces.terminal import history

    return history.show_run(call.given["run"], call.given["iteration"], call.display)


@command(app, "left right as_json")
def compare(call: Invocation) -> int:
    """Compare two runs: their outcomes, the tests that differ, and a diff of their programs."""
    from agent.interfaces.terminal import history

    return history.compare_runs(call.given["left"], call.given["right"], call.display)


@command(
    app, "parent start code tests tests_file deselect provider model role out log force as_json "
    "require_proof require_integrity require_confidence accept_proposed verbose", epilog=EPILOG,
)
def fork(call: Invocation) -> int:
    """Start a new run from an iteration of RUN, with other code, tests or models."""
    from agent.interfaces.terminal import history

    parent, start, code = (call.given[name] for name in ("parent", "start", "code"))
    return history.fork_run(call.opener, parent, start, code or (), call.request, call.display)


@command(app, "provider model role test as_json verbose")
def plan(call: Invocation) -> int:
    """Show which models a run would use, their price, the sandbox, and the data folder."""
    from agent.interfaces.terminal import planning

    return planning.plan(call.opener, call.request, call.display, test=call.given["test"])


@command(app, "name listed as_json provider log force verbose", epilog=EPILOG)
def example(call: Invocation) -> int:
    """Run a bundled example: a task in words whose first draft has a bug."""
    from agent.interfaces.terminal import commands

    if call.given["listed"]:
        return commands.list_examples(call.display)
    return commands.run_example(call.opener, call.given["name"], call.request, call.display)


@command(app, "folder verbose")
def mcp(call: Invocation) -> int:
    """Serve healing to other programs over the Model Context Protocol (stdin and stdout)."""
    from agent.interfaces.servers import mcp_server

    return mcp_server.serve(call.given["folder"], call.opener)


@command(app, "verbose")
def lsp(call: Invocation) -> int:
    """Serve an editor over the Language Server Protocol (stdin and stdout)."""
    from agent.interfaces.servers import language_server

    return language_server.serve(call.opener)


@command(app, "jobs verbose")
def worker(call: Invocation) -> int:
    """Drive the runs that wait in the database of HEAL_DATABASE_URL, until it is stopped."""
    from agent.interfaces.servers import worker as server

    return server.serve(call.opener, call.given["jobs"] or 0)


def main() -> None:
    """The console script."""
    # Garbage collection would take a quarter of the import time of a short-lived process.
    gc.set_threshold(COLLECT_AFTER)
    try:
        app()
    finally:
        gc.freeze()
