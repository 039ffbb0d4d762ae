"""Inside the solution's jail: answers calls with plain values, which the host compares.

There is no other process: the host sends a call, gets a value as text, and alone knows what it
should be. A value that is not plain is not told; such a test goes to the tests' process.
"""

from __future__ import annotations

import builtins
import os

from agent.checks.codec import Unplain
from agent.checks.plain import encode
from agent.checks.programs.namesakes import give_way
from agent.checks.programs.observe_solution import Program
from agent.checks.remote import place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Answer = dict[str, Any]

TEXT = 2_000


def main(jail: Any) -> None:
    """Answers the calls one after another, the program loaded afresh for each."""
    give_way(jail.files)
    program = Program(lambda: None, jail.payload, jail.folder)
    folder = os.path.join(jail.folder, "")
    jail.send({"begun": True})
    for item in jail.payload["calls"]:
        jail.send({"id": item["id"], **_answer(program, item, folder)})


def _answer(program: Program, item: dict[str, Any], folder: str) -> Answer:
    """The value of a call, what it raised, or why the host cannot be told."""
    try:
        names = program.load().__dict__
    except BaseException as error:  # noqa: BLE001 - the program may raise anything
        return {"raised": _told(error, folder), "loaded": False}
    unknown = [name for name in item["names"] if name not in names]
    if unknown:
        return {"untold": f"the program has no {unknown[0]}"}
    try:
        value = eval(item["call"], names)
    except BaseException as error:  # noqa: BLE001 - as above
        return {"raised": _told(error, folder), "loaded": True}
    try:
        return {"value": encode(value)}
    except Unplain as error:
        return {"untold": str(error)}


def _told(error: BaseException, folder: str) -> Answer:
    try:
        text = str(error)
    except BaseException as again:  # noqa: BLE001 - its own __str__ may raise anything
        text = f"<its text raised {type(again).__name__}>"
    mro: tuple[type, ...] = type.__dict__["__mro__"].__get__(type(error))
    return {
        "name": type(error).__name__, "text": text[:TEXT], "place": place(error, folder)[:TEXT],
        "kinds": [c.__name__ for c in mro if getattr(builtins, c.__name__, None) is c],
    }
