"""Answers on lent GPUs, with a stand-in of the library's interface: it forks as the real one does,
pickles what goes in and comes out, and tells of errors no more than their name.

The real one was never run.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import sys
import threading
from collections.abc import Callable, Generator
from contextvars import ContextVar, copy_context
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from llm import Message, Request
from llm.errors import ContextOverflow, NoProvider, ProviderDown, UnknownModel
from llm.keys import NO_KEY, Secret
from llm.providers.huggingface.host import Host, Which
from llm.providers.huggingface.status import Ended, LoadedModel
from llm.types import Usage

# The library forks a process that has threads, which Python warns of since 3.12.
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")

WHICH = Which("m", False)
REQUEST: ContextVar[str] = ContextVar("REQUEST", default="")
"""Where the library finds the visitor's request, whose quota a loan is of."""
HELLO = Request("generator", "", (Message("user", "Hello"),), deadline_s=30)


class Model:
    """Says in which process it ran."""

    fitted = LoadedModel("cuda", "bfloat16", False, 1)

    def answer(
        self, request: Request, emit: Callable[[str], None], cancelled: threading.Event
    ) -> Ended:
        if request.role == "long":
            raise ContextOverflow("too long")
        for number in range(3 if request.role != "endless" else 10**9):
            if cancelled.wait(0.001):
                break
            emit(f"{number} ")
        where = "fork" if multiprocessing.current_process().name == "lent" else "here"
        return Ended("stop", Usage(output=3), where, 3, 0.0, 0.1, cancelled.is_set())


class Library:
    """`spaces.GPU` for generators."""

    def __init__(self) -> None:
        self.loans: list[int] = []
        self.requests: list[str] = []
        self.closed = 0
        self.refusal = ""

    def gpu(self, duration: Callable[..., int]) -> Callable[[Any], Any]:
        def wrap(task: Callable[..., Generator[Any, None, None]]) -> Any:
            def lent(*arguments: Any) -> Generator[Any, None, None]:
                self.loans.append(duration(*arguments))
                self.requests.append(REQUEST.get())
                if self.refusal:
                    raise RuntimeError(self.refusal)
                sent = pickle.dumps(arguments)
                ours, theirs = multiprocessing.Pipe()

                def work() -> None:
                    try:
                        for item in task(*pickle.loads(sent)):  # noqa: S301 - our own
                            theirs.send(item)
                        theirs.send(StopIteration)
                    except Exception as error:
                        theirs.send(RuntimeError(type(error).__name__))

                process = multiprocessing.get_context("fork").Process(
                    target=work, name="lent", daemon=True
                )
                process.start()
                try:
                    while (item := ours.recv()) is not StopIteration:
                        if isinstance(item, RuntimeError):
                            raise item
                        yield item
                finally:
                    self.closed += 1
                    process.kill()
                    process.join()

            return lent

        return wrap


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Library:
    made = Library()
    spaces, config = ModuleType("spaces"), ModuleType("spaces.config")
    spaces.GPU = made.gpu  # type: ignore[attr-defined]
    config.Config = SimpleNamespace(zero_gpu=True)  # type: ignore[attr-defined]
    monkeypatch.setenv("HF_DEACTIVATE_ASYNC_LOAD", "0")
    monkeypatch.setitem(sys.modules, "spaces", spaces)
    monkeypatch.setitem(sys.modules, "spaces.config", config)
    monkeypatch.setattr("llm.providers.huggingface.zerogpu.find_spec", lambda name: spaces)
    return made


def asked(host: Host, role: str = "generator", most: int = 10**9) -> tuple[list[str], Ended]:
    pieces: list[str] = []
    cancelled = threading.Event()

    def emit(piece: str) -> None:
        pieces.append(piece)
        if len(pieces) >= most:
            cancelled.set()

    host.hold(WHICH)
    host.warm(WHICH, NO_KEY)
    request = Request(role, "", HELLO.messages, deadline_s=30)
    return pieces, host.ask(WHICH, NO_KEY, request, emit, cancelled).result(timeout=20)


def test_an_answer_is_written_by_a_lent_process(library: Library) -> None:
    host = Host(lambda name, key, four_bit: Model())  # type: ignore[arg-type,return-value]

    pieces, ended = asked(host)

    assert (pieces, ended.note) == (["0 ", "1 ", "2 "], "fork")
    assert library.loans == [30]


def test_an_error_of_ours_comes_back_whole(library: Library) -> None:
    host = Host(lambda name, key, four_bit: Model())  # type: ignore[arg-type,return-value]

    with pytest.raises(ContextOverflow, match="too long"):
        asked(host, "long")


def test_a_loan_is_given_back_when_the_answer_is_not_wanted(library: Library) -> None:
    host = Host(lambda name, key, four_bit: Model())  # type: ignore[arg-type,return-value]

    _, ended = asked(host, "endless", most=2)

    assert ended.cancelled
    assert library.closed == 1


def test_elsewhere_nothing_is_lent(library: Library) -> None:
    sys.modules["spaces.config"].Config.zero_gpu = False  # type: ignore[attr-defined]
    host = Host(lambda name, key, four_bit: Model())  # type: ignore[arg-type,return-value]

    _, ended = asked(host)

    assert (ended.note, library.loans) == ("here", [])


def test_the_model_is_loaded_at_the_start_by_the_thread_that_has_the_library_and_never_later(
    library: Library
) -> None:
    threads: list[str] = []

    def load(name: str, key: Secret, four_bit: bool) -> Any:
        threads.append(threading.current_thread().name)
        return Model()

    host = Host(load)
    host.hold(WHICH)
    host.warm(WHICH, NO_KEY)
    host.warm(WHICH, NO_KEY)
    later = Which("another", False)
    host.hold(later)

    assert threads == ["MainThread"]
    assert os.environ["HF_DEACTIVATE_ASYNC_LOAD"] == "1"  # nor do others load beside it
    assert library.loans == []  # nobody has asked yet
    with pytest.raises(NoProvider, match="HF_MODEL"):
        host.ask(later, NO_KEY, HELLO, lambda piece: None, threading.Event()).result(20)


def test_what_was_wrong_with_it_at_the_start_is_told_to_whoever_asks(library: Library) -> None:
    def load(name: str, key: Secret, four_bit: bool) -> Any:
        raise UnknownModel("there is no model m on the hub")

    host = Host(load)
    host.hold(WHICH)
    host.warm(WHICH, NO_KEY)

    assert host.describe(WHICH).state == "failed"
    with pytest.raises(NoProvider, match="there is no model m on the hub"):
        asked(host)


def test_a_loan_is_asked_for_by_the_request_of_whoever_asks(library: Library) -> None:
    host = Host(lambda name, key, four_bit: Model())  # type: ignore[arg-type,return-value]
    host.hold(WHICH)
    host.warm(WHICH, NO_KEY)

    def visits(name: str) -> None:
        REQUEST.set(name)
        asked(host)

    for name in ("one", "another"):
        copy_context().run(visits, name)

    assert library.requests == ["one", "another"]


def test_a_quota_that_is_used_up_is_told_in_the_librarys_words(library: Library) -> None:
    library.refusal = "You have exceeded your GPU quota"
    host = Host(lambda name, key, four_bit: Model())  # type: ignore[arg-type,return-value]

    with pytest.raises(ProviderDown, match=r" m\b.*You have exceeded your GPU quota"):
        asked(host)
