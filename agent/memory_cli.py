"""The terminal face of the memory: `python -m agent memory …`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Protocol

import typer

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent.commands import Face

JsonOption = Annotated[
    bool, typer.Option("--json", help="Print one JSON document on standard output.")
]
KeyArgument = Annotated[str, typer.Argument(metavar="ID", help="As `memory list` names it.")]
KeysArgument = Annotated[
    list[str] | None, typer.Argument(metavar="ID...", help="As `memory list` names them.")
]


class Conclude(Protocol):
    """Runs a command and exits by its code; whatever ends it early becomes a sentence."""

    def __call__(
        self, work: Callable[[Face], int], *, as_json: bool, verbose: bool
    ) -> None: ...


def memory_app(conclude: Conclude) -> typer.Typer:
    """The commands about the memory."""
    app = typer.Typer(
        help="What healed failures before: list, show, forget, export, import, sync.",
        no_args_is_help=True, rich_markup_mode=None,
    )

    @app.command("list")
    def list_command(as_json: JsonOption = False) -> None:
        """List all fixes and lessons, the newest first."""
        from agent import memory_commands

        conclude(memory_commands.listed, as_json=as_json, verbose=False)

    @app.command()
    def show(key: KeyArgument, as_json: JsonOption = False) -> None:
        """Show one fix with its patch, or one lesson."""
        from agent import memory_commands

        conclude(lambda face: memory_commands.show(key, face), as_json=as_json, verbose=False)

    @app.command()
    def forget(
        keys: KeysArgument = None,
        everything: Annotated[bool, typer.Option("--all", help="Forget everything.")] = False,
        sure: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
        as_json: JsonOption = False,
    ) -> None:
        """Forget fixes and lessons, for good."""
        from agent import memory_commands

        conclude(
            lambda face: memory_commands.forget(keys or [], face, everything=everything, sure=sure),
            as_json=as_json, verbose=False,
        )

    @app.command()
    def export(
        target: Annotated[str, typer.Argument(metavar="FILE", help="- is standard output.")],
        force: Annotated[bool, typer.Option("--force", help="Overwrite FILE.")] = False,
        as_json: JsonOption = False,
    ) -> None:
        """Write everything remembered as JSON lines, with the programs in it."""
        from agent import memory_commands

        conclude(
            lambda face: memory_commands.export(target, face, force=force),
            as_json=as_json, verbose=False,
        )

    @app.command("import")
    def import_command(
        source: Annotated[Path, typer.Argument(metavar="FILE", help="An export.")],
        trusted: Annotated[
            bool, typer.Option("--trust", help="Rank its fixes as your own, with their record.")
        ] = False,
        as_json: JsonOption = False,
    ) -> None:
        """Take in an export of someone else's; every fix is replayed before use."""
        from agent import memory_commands

        conclude(
            lambda face: memory_commands.import_file(source, face, trusted=trusted),
            as_json=as_json, verbose=False,
        )

    @app.command()
    def sync(
        with_fixes: Annotated[
            bool, typer.Option("--with-fixes", help="Share fixes too: they hold your code.")
        ] = False,
        as_json: JsonOption = False,
    ) -> None:
        """Share lessons through the dataset HF_LESSONS_REPO, and take in those of others."""
        from agent import memory_commands

        conclude(
            lambda face: memory_commands.share(face, with_fixes=with_fixes),
            as_json=as_json, verbose=False,
        )

    @app.command()
    def answers(
        clear: Annotated[bool, typer.Option("--clear", help="Forget them all.")] = False,
        as_json: JsonOption = False,
    ) -> None:
        """Say how many answers of models are kept to be given again (HEAL_CACHE)."""
        from agent import memory_commands

        conclude(
            lambda face: memory_commands.answers(face, clear=clear), as_json=as_json,
            verbose=False,
        )

    return app
