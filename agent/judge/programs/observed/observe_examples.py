"""Inside the solution's jail: answers calls with plain values, which the host compares.

There is no other process: the host sends a call, gets a value as text, and alone knows what it
should be. A value that is not plain is not told; such a test goes to the tests' process.
"""

from __future__ import annotations

import builtins
import gc
import io
import os

from agent.judge.compared.plain import encode
from agent.judge.observed.codec import Unplain
from agent.judge.programs.loading import begin, place
from agent.judge.programs.observed.observe_solution import Served
from agent.judge.texts.messages import text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Answer = dict[str, Any]

TEXT = 2_000


def warm_up(paired: bool) -> None:
    """Answers a little call, so that the next is answered quicker: an interpreter that has run our
    code once has it specialised, and its copies have the pages that are written to. Called in a
    process that waits for its job; of no use to one of a pair, which answers no such calls."""
    if not paired:
        names: dict[str, Any] = {}
        exec("def f(n):\n    return [n]\n", names)
        encode(eval("f(1)", names))
        io.TextIOWrapper(io.BytesIO(), "utf-8", "surrogatepass", write_through=True).write("x")
        gc.collect()


def main(jail: Any) -> None:
    """Answers the calls one after another, the program loaded afresh for each."""
    begin(jail)
    program = Served(lambda: None, jail.payload, jail.folder)
    folder = os.path.join(jail.folder, "")
    jail.send({"begun": True})
    for item in jail.payload["calls"]:
        jail.send({"id": item["id"], **_answer(program, item, folder)})


def _answer(program: Served, item: dict[str, Any], folder: str) -> Answer:
    """The value of a call, what it raised, or why the host cannot be told."""
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
    except Unplain as error:
        return {"untold": str(error)}


def _described(error: BaseException, folder: str) -> Answer:
    mro: tuple[type, ...] = type.__dict__["__mro__"].__get__(type(error))
    return {
        "name": type(error).__name__, "text": text_of(error)[:TEXT],
        "place": place(error, folder)[:TEXT],
        "kinds": [c.__name__ for c in mro if getattr(builtins, c.__name__, None) is c],
    }
