"""A head start for the jail while the rest is imported; a wrong guess costs an unused process."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

COMMAND = "run"
ANY_JAIL = ("", "auto", "jail")


def head_start(arguments: Sequence[str]) -> None:
    """Begins the jail of a project's suite, where the arguments of the command line mean one."""
    if sys.platform != "linux" or os.environ.get("HEAL_SANDBOX", "") not in ANY_JAIL:
        return
    start = _start(arguments)
    if start is None:
        return
    from agent.intake.errors import BadInput
    from agent.judge.jail_modules import suite_surroundings
    from agent.project.grants import grants_of
    from agent.project.interpreter import find_interpreter, refuse_without_pytest
    from agent.project.layout import find_layout
    from sandbox.jail.servers import SERVERS
    from sandbox.types import SandboxError

    try:
        layout = find_layout(start)
        found = find_interpreter(layout.root, "")
        refuse_without_pytest(found)
        asked = grants_of(layout.settings, layout.root)
        given = asked if "--grant" in arguments else asked.harmless
        sites = (*found.sites, *given.read)
        SERVERS.begin(suite_surroundings(sites, found.python, given.loopback))
    except (BadInput, SandboxError, OSError):
        return  # said by the command itself, which meets it again


def _start(arguments: Sequence[str]) -> Path | None:
    """The place in a project that is meant, or `None`."""
    if not arguments:
        return Path.cwd()
    if len(arguments) < 2 or arguments[0] != COMMAND or arguments[1].startswith("-"):
        return None
    from agent.doors.project.meant import is_of_project

    brings_tests = any(one.startswith("--tests") for one in arguments)
    place = Path(arguments[1].partition("::")[0])
    return place if is_of_project(arguments[1], brings_tests=brings_tests) else None
