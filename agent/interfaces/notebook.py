"""The `%%heal` magic for IPython and notebooks, loaded by `%load_ext selfheal`. Each cell is healed
as a separate program, in the jail."""

from __future__ import annotations

import argparse
import shlex
from typing import Any, NoReturn

from agent.core.settings import BadSettings
from agent.interfaces.library import HealResult, RunFault, SelfHealingAgent
from agent.interfaces.terminal.display import Terminal
from agent.target.errors import BadInput
from llm import LlmError
from sandbox import SandboxError


class _Options(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise BadInput(f"{message}\n{self.format_usage().rstrip()}")


def _options() -> _Options:
    parser = _Options(
        prog="%%heal", add_help=False, allow_abbrev=False,
        description="Heals the program of a cell so that the asserts in it pass.",
    )
    parser.add_argument(
        "--tests", metavar="EXPR", action="append", default=[],
        help="additional assert statements; repeatable",
    )
    parser.add_argument(
        "--apply", action="store_true", help="replace the cell by the healed program"
    )
    parser.add_argument("--budget", type=float, metavar="SECONDS", help="time limit of the run")
    return parser


def register(shell: Any) -> None:
    """Registers the magic `%%heal` with IPython's `InteractiveShell`."""

    def heal(line: str, cell: str) -> HealResult | None:
        return healed(shell, line, cell)

    heal.__doc__ = _options().format_help()
    shell.register_magic_function(heal, "cell", "heal")


def healed(shell: Any, line: str, cell: str) -> HealResult | None:
    """Heals a cell, and shows the result and the patch; returns `None` on unusable input."""
    terminal = Terminal()
    # Notebooks show standard error in red.
    terminal.messages, terminal.more = terminal.stdout, ""
    try:
        options = _options().parse_args(shlex.split(line))
        if shell.transform_cell(cell).strip() != cell.strip():
            raise BadInput("The cell contains IPython syntax, such as `%` or `!` lines. Remove "
                           "these lines, because only plain Python can be healed.")
        result = SelfHealingAgent(budget_s=options.budget).run(
            code=cell, tests=options.tests or None
        )
    except (BadInput, BadSettings, LlmError, RunFault, SandboxError, ValueError) as error:
        terminal.say(str(error), "bold red")
        return None
    terminal.result(result)
    if result.success:
        terminal.patch(result.diff)
        if options.apply and result.diff:
            shell.set_next_input(result.code, replace=True)
    return result
