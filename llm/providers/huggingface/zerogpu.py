"""Answers on a GPU that a ZeroGPU space lends for each call.

There a decorated function runs in a forked process, for at most the seconds it asked for: what goes
in and comes out is pickled, the model comes along with the fork, and a generator's items come as
they are made. The space wants to see such a function when it starts, so the host of the process
must be made before the page is launched.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Generator
from importlib.util import find_spec
from typing import TYPE_CHECKING, cast

from llm.errors import LlmError, ProviderDown
from llm.providers.huggingface.status import Ended
from llm.types import Request, Usage

if TYPE_CHECKING:
    from llm.providers.huggingface.decoding import LocalModel

Item = str | Ended | LlmError
"""An error is an item, since the fork would pass on no more than its name."""

Answers = Callable[[str, bool, Request], Generator[Item, None, None]]

UNWANTED = Ended("cut", Usage(estimated=True), "", 0, None, 0.0, cancelled=True)
"""What an answer that nobody waits for any more comes to here; the loan ends with it."""

MOST_S = 120
"""The longest loan that is asked for; a shorter one waits less."""


def lent(answers: Answers) -> Answers | None:
    """`answers`, run on a lent GPU; `None` where this is no ZeroGPU space."""
    if find_spec("spaces") is None:
        return None
    import spaces
    from spaces.config import Config

    if not Config.zero_gpu:
        return None
    # What stands in for CUDA is a matter of each thread, and transformers would load by several.
    os.environ["HF_DEACTIVATE_ASYNC_LOAD"] = "1"
    return cast(Answers, spaces.GPU(duration=_seconds)(answers))  # the library is not typed


def borrowed(
    answers: Answers, model: str, four_bit: bool, request: Request
) -> Generator[Item, None, None]:
    """An answer on a lent GPU; that none is lent, or no longer, raises `ProviderDown`."""
    try:
        yield from answers(model, four_bit, request)
    except Exception as error:  # the library raises those of the page's framework
        raise ProviderDown(f"no GPU was lent to {model}: {error}") from error


def items(model: LocalModel, request: Request) -> Generator[Item, None, None]:
    """An answer as a generator; closing it stops the model."""
    made: queue.SimpleQueue[Item] = queue.SimpleQueue()
    cancelled = threading.Event()
    crashed: list[BaseException] = []

    def answer() -> None:
        try:
            made.put(model.answer(request, made.put, cancelled))
        except LlmError as error:
            made.put(error)
        except BaseException as error:  # noqa: BLE001 - raised again below, where it is waited for
            crashed.append(error)
            made.put(LlmError(str(error)))

    thread = threading.Thread(target=answer)
    thread.start()
    try:
        while True:
            item = made.get()
            if crashed:
                raise crashed[0]
            yield item
            if not isinstance(item, str):
                return
    finally:
        cancelled.set()
        thread.join()


def _seconds(model: str, four_bit: bool, request: Request) -> int:
    return int(min(MOST_S, request.deadline_s))
