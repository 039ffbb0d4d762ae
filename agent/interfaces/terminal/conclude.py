"""Turns the result or the error of a terminal command into an exit code and a message. Details of
internal errors go to a file in the data folder."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from agent.interfaces.exits import BUDGET, INTERNAL, INTERRUPTED, NOT_FIXABLE, USAGE

if TYPE_CHECKING:
    from agent.interfaces.terminal.commands import Display


def conclude(
    work: Callable[[Display], int], *, as_json: bool = False, annotates: bool = False,
    verbose: bool = False,
) -> None:
    """Runs a command and exits with its exit code. Exceptions become messages."""
    from agent.interfaces.terminal.commands import Display
    from agent.interfaces.terminal.display import Terminal

    display = Display(Terminal(verbose=verbose), as_json, annotates)
    with faults_logged(verbose=verbose) as faults:
        code = _exit_code(work, display)
    if faults.path is not None:
        display.terminal.say(f"Details are in {faults.path}.")
    raise typer.Exit(code)


def _exit_code(work: Callable[[Display], int], display: Display) -> int:
    from agent.core.dotenv_files import read_dotenv
    from agent.interfaces.terminal.commands import print_error

    try:
        if warning := read_dotenv():
            display.terminal.say(warning)
        return work(display)
    except KeyboardInterrupt:
        return print_error(display, INTERRUPTED, "Interrupted. Nothing was written.")
    except BrokenPipeError:
        raise
    except Exception as error:  # noqa: BLE001  # the outermost handler of a bug
        return report_error(error, display)


def report_error(error: Exception, display: Display) -> int:
    """Shows why a command failed, logs an internal error, and returns the exit code."""
    from agent.core.settings import BadSettings
    from agent.interfaces.terminal.commands import print_error
    from agent.interfaces.writeback import NotWritten
    from agent.target.errors import BadInput, NotFixable, TimeIsUp
    from llm import LlmError
    from sandbox import SandboxError

    match error:
        case BadInput() | BadSettings() | LlmError() | NotWritten():
            return print_error(display, USAGE, str(error))
        case TimeIsUp():
            return print_error(display, BUDGET, str(error))
        case NotFixable():
            return print_error(display, NOT_FIXABLE, str(error))
        case SandboxError():
            return print_error(display, NOT_FIXABLE, f"The sandbox cannot run code here: {error}")
        case _:
            logging.getLogger("agent").error("internal error", exc_info=error)
            words = f"Internal error: {type(error).__name__}: {error}"
            return print_error(display, INTERNAL, words)


class FaultLog(logging.Handler):
    """Appends warnings and errors to `faults.log`; `path` is `None` until the first one."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.setFormatter(logging.Formatter("%(asctime)s %(name)s: %(message)s"))
        self.path: Path | None = None

    def emit(self, record: logging.LogRecord) -> None:
        """Writes one record. If that fails, `logging` reports it on standard error."""
        try:
            if self.path is None:
                from agent.core.settings import Settings, data_folder

                self.path = data_folder(Settings.from_env())[0] / "faults.log"
            with self.path.open("a", encoding="utf-8", errors="backslashreplace") as file:
                file.write(self.format(record) + "\n")
        except Exception:  # noqa: BLE001  # the protocol of logging handlers
            self.handleError(record)


@contextmanager
def faults_logged(*, verbose: bool) -> Iterator[FaultLog]:
    """Sends log records to a `FaultLog`, and with `verbose` also to standard error."""
    root = logging.getLogger()
    log = FaultLog()
    handlers: list[logging.Handler] = [log]
    if verbose:
        handlers.append(logging.StreamHandler())
    for handler in handlers:
        root.addHandler(handler)
    try:
        yield log
    finally:
        for handler in handlers:
            root.removeHandler(handler)
