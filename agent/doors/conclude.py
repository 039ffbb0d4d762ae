"""How a command of the terminal ends: with its exit code, or with a sentence and one."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

import typer

from agent.doors.exits import INTERNAL, INTERRUPTED, NOT_FIXABLE, USAGE

if TYPE_CHECKING:
    from agent.doors.commands import Display


def conclude(
    work: Callable[[Display], int], *, as_json: bool = False, verbose: bool = False
) -> None:
    """Runs a command and exits by its code; whatever ends it early becomes a sentence."""
    from agent.doors.commands import Display
    from agent.doors.faultlog import faults_logged
    from agent.doors.terminal import Terminal

    face = Display(Terminal(verbose=verbose), as_json)
    with faults_logged(verbose=verbose) as faults:
        code = _ended(work, face)
    if faults.path is not None:
        face.terminal.say(f"The details are in {faults.path}.")
    raise typer.Exit(code)


def _ended(work: Callable[[Display], int], face: Display) -> int:
    from agent.core.settings import BadSettings
    from agent.doors.commands import Usage, refused
    from agent.doors.dotenv import read_dotenv
    from agent.doors.writeback import NotWritten
    from agent.intake import BadInput, NotFixable
    from llm import LlmError
    from sandbox import SandboxError

    try:
        read_dotenv()
        return work(face)
    except (Usage, BadInput, BadSettings, LlmError, NotWritten) as error:
        return refused(face, USAGE, str(error))
    except NotFixable as error:
        return refused(face, NOT_FIXABLE, str(error))
    except SandboxError as error:
        return refused(face, NOT_FIXABLE, f"The sandbox cannot run code here: {error}")
    except KeyboardInterrupt:
        return refused(face, INTERRUPTED, "Interrupted; nothing was written.")
    except BrokenPipeError:
        raise
    except Exception as error:  # the outermost floor: a fault of ours, said once
        logging.getLogger("agent").error("a fault of ours", exc_info=error)
        return refused(
            face, INTERNAL, f"A fault of ours ended this: {type(error).__name__}: {error}"
        )
