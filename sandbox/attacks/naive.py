"""A sandbox as people write it first: the control of every attack.

`subprocess.run([python, file])` with a timeout, the app's environment, the descriptors that the
app lets its programs inherit, a folder that is used again, and a channel on which a result is
awaited. Where a harness saves the start of Python, it calls `exec` in one interpreter.
"""

from __future__ import annotations

import asyncio
import signal
import socket
import subprocess
import sys
from pathlib import Path

from sandbox.attacks.attack import THROUGH, Attack
from sandbox.attacks.report import Report, read
from sandbox.attacks.world import World

_TIMEOUT_S = 30.0
_OUTPUT_KEPT = 10_000_000

_INTERPRETER = """\
import sys
*paths, facts = sys.argv[1:]
sys.argv[1:] = [facts]
for path in paths:
    try:
        exec(compile(open(path).read(), path, "exec"), {"__name__": "__main__"})
    except Exception as error:
        print(repr(error), file=sys.stderr)
"""


async def answer(attack: Attack, world: World) -> str:
    """What the attack met in the naive harness; empty when it did not even start."""
    return await asyncio.to_thread(_answer, attack, world)


def _answer(attack: Attack, world: World) -> str:
    room = world.room(attack.name.replace("/", " "))
    paths = []
    for number, text in enumerate(attack.texts()):
        path = Path(room, f"attack-{number}.py")
        path.write_text(text, encoding="utf-8")
        paths.append(str(path))
    if attack.harness == "process":
        reports = [_run([path], room, world) for path in paths]
    else:
        reports = [_run(["-c", _INTERPRETER, *paths], room, world)]
    first, last = reports[0], reports[-1]
    if not first.started:
        return ""
    if attack.harness == "interpreter" and last.starts < len(paths):
        return THROUGH  # the harness did not live to run the next program
    return last.answer


def _run(arguments: list[str], room: str, world: World) -> Report:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        try:
            ended = subprocess.run(
                [sys.executable, *arguments, world.facts()],
                stdin=subprocess.DEVNULL, capture_output=True, timeout=_TIMEOUT_S, check=False,
                cwd=room, pass_fds=(world.leaked, theirs.fileno()),
            )
        except subprocess.TimeoutExpired as late:
            return read(late.stdout or b"", "timeout")
    code = ended.returncode
    return read(ended.stdout[:_OUTPUT_KEPT], signal.Signals(-code).name if code < 0 else "")
