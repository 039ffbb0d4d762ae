"""Jailed program: answers calls with plain values, which the host compares.

Only the host knows the expected value. A value that is not plain is reported without its content.
"""

from __future__ import annotations

import builtins
import gc
import io
import os
import sys

from agent.verify.examples.plain_values import encode
from agent.verify.programs.loading import EntryFile, begin, location
from agent.verify.rewriting.messages import text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Answer = dict[str, Any]

TEXT = 2_000


def warm_up() -> None:
    """Answers a small call in a waiting process, so that its forks answer faster: our code is then
    specialised, and the memory pages that it writes to exist."""
    names: dict[str, Any] = {}
    exec("def f(n):\n    return [n]\n", names)
    encode(eval("f(1)", names))
    _null_stream().write("x")
    gc.collect()


class _NullStream(io.RawIOBase):
    def writable(self) -> bool:
        return True

    def write(self, part: Any) -> int:
        return len(part)


def _null_stream() -> io.TextIOWrapper:
    raw: Any = _NullStream()
    return io.TextIOWrapper(raw, "utf-8", "surrogatepass", write_through=True)


def _fresh_streams(stdin: str) -> None:
    # `Any`, since `sys.__stdin__` and others are declared final.
    system: Any = sys
    data = io.BytesIO(stdin.encode("utf-8", "surrogatepass"))
    system.stdin = system.__stdin__ = io.TextIOWrapper(data, "utf-8", "surrogatepass")
    system.stdout = system.__stdout__ = _null_stream()
    system.stderr = system.__stderr__ = _null_stream()


def main(jail: Any) -> None:
    begin(jail)
    program = EntryFile(jail.payload, jail.folder)
    folder = os.path.join(jail.folder, "")
    jail.send({"begun": True})
    for item in jail.payload["calls"]:
        _fresh_streams(jail.payload["stdin"])
        jail.send({"id": item["id"], **_answer(program, item, folder)})


def _answer(program: EntryFile, item: dict[str, Any], folder: str) -> Answer:
    """The value of a call, the exception it raised, or why the value cannot be sent."""
    try:
        names = program.load().__dict__
    except BaseException as error:  # noqa: BLE001 - the program may raise anything
        return {"raised": _described(error, folder), "loaded": False}
    unknown = [name for name in item["names"] if name not in names]
    if unknown:
        return {"untold": f"the program has no {unknown[0]}"}
    try:
        value = eval(item["call"], names)
    except BaseException as error:  # noqa: BLE001 - as above
        return {"raised": _described(error, folder), "loaded": True}
    try:
        return {"value": encode(value)}
    except ValueError as error:  # such as too many digits
        return {"untold": str(error)}


def _described(error: BaseException, folder: str) -> Answer:
    mro: tuple[type, ...] = type.__dict__["__mro__"].__get__(type(error))
    return {
        "name": type(error).__name__, "text": text_of(error)[:TEXT],
        "place": location(error, folder)[:TEXT],
        "kinds": [c.__name__ for c in mro if getattr(builtins, c.__name__, None) is c],
    }
