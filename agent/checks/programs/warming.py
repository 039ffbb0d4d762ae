"""Judges a little example within one process, so that the next judging there is quicker.

An interpreter that has run our code once has it specialised, and a copy of that interpreter
has in its own memory what judging writes to. Nothing of the example is left behind.
"""

from __future__ import annotations

import ast
import gc
import io
import types
from collections import deque

from agent.checks.plain import encode
from agent.checks.programs.observe_tests import Finder, Namespace
from agent.checks.reading import SNIPPET, read
from agent.checks.remote import Link

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PROGRAM = "def f(a, b=[0]):\n    return [a + n for n in b]\n"
TEST = "x = 1\nassert f(x) == [1]\nassert f(2, [3]) == [5]"


class _End:
    """One end of a channel within one process: who waits lets the other work."""

    def __init__(self) -> None:
        self.waiting: deque[Any] = deque()
        self.other: _End = self
        self.link: Link

    def send(self, value: Any) -> None:
        self.other.waiting.append(value)

    def receive(self) -> Any:
        if not self.waiting:
            link = self.other.link
            link._serve(link._next() or {})
        return self.waiting.popleft()


def warm_up(paired: bool) -> None:
    """Runs once what judging runs; any number of times, with no effect but speed."""
    if paired:
        _judge()
    else:
        names: dict[str, Any] = {}
        exec(compile(PROGRAM, "/warming.py", "exec", dont_inherit=True), names)
        encode(eval("f(1)", names))
        io.TextIOWrapper(io.BytesIO(), "utf-8", "surrogatepass", write_through=True).write("x")
    gc.collect()


def _judge() -> None:
    near, far = _End(), _End()
    near.other, far.other = far, near
    near.link, far.link = Link(near, "t", "/"), Link(far, "s", "/")
    module = types.ModuleType("warming")

    def load() -> tuple[Any, ...]:
        exec(compile(PROGRAM, "/warming.py", "exec", dont_inherit=True), module.__dict__)
        return module, tuple(dir(module))

    far.link.handlers = {"load": load}
    reading = read(ast.parse(TEST), SNIPPET, {"warming"}, free=True)
    finder = Finder(near.link, {"name": "warming", "modules": []})
    program, has = finder.load()
    space = Namespace(near.link, program, has, {"warming"}, reading, {})
    exec(reading.code, space)
