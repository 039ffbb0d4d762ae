"""`%%heal` for IPython and notebooks, by `%load_ext selfheal`. A cell is healed alone, in the
jail."""

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
        description="Heals the program of a cell by the asserts that stand in it.",
    )
    parser.add_argument(
        "--tests", metavar="EXPR", action="append", default=[],
        help="assert code beside that of the cell; repeatable",
    )
    parser.add_argument(
        "--apply", action="store_true", help="put the healed program in the place of the cell"
    )
    parser.add_argument(
        "--budget", type=float, metavar="SECONDS", help="the most that the heal may take"
    )
    return parser


def register(shell: Any) -> None:
    """Gives IPython's `InteractiveShell` the magic `%%heal`."""

    def heal(line: str, cell: str) -> HealResult | None:
        return healed(shell, line, cell)

    heal.__doc__ = _options().format_help()
    shell.register_magic_function(heal, "cell", "heal")


def healed(shell: Any, line: str, cell: str) -> HealResult | None:
    """Heals a cell, and shows the verdict and the patch; `None` where it could not be tried."""
    terminal = Terminal()
    # A notebook colours all of standard error as a fault.
    terminal.talk = terminal.out
    try:
        given = _options().parse_args(shlex.split(line))
        if shell.transform_cell(cell).strip() != cell.strip():
            raise BadInput("The cell holds what only IPython understands, as `%` and `!` lines; "
                           "heal one of plain Python.")
        result = SelfHealingAgent(budget_s=given.budget).run(
            code=cell, tests=given.tests or None
        )
    except (BadInput, BadSettings, LlmError, RunFault, SandboxError, ValueError) as error:
        terminal.say(str(error), "bold red")
        return None
    terminal.result(result)
    if result.success:
        terminal.patch(result.diff)
        if given.apply and result.diff:
            shell.set_next_input(result.code, replace=True)
    return result
