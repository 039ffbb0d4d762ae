from __future__ import annotations

import asyncio
import sqlite3
import stat
import threading
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from llm import BadReply, Json, Message, Reply, Request, Usage
from llm.ask import whole
from llm.cache import AnswerCache, BadCache, Cached, code_version
from llm.errors import ProviderDown
from llm.types import Finish
from tests.llm.scripted import Double, ask_any

SCHEMA = {"type": "object", "required": ["a"]}


class Counting(Double):
    """Answers from a list, and counts how often it is asked."""

    def __init__(self, *answers: str, finish: Finish = "stop") -> None:
        self.answers = list(answers)
        self.asked = 0
        self.finish = finish

    async def stream(self, request: Request) -> AsyncGenerator[str | Reply, None]:
        self.asked += 1
        if not self.answers:
            raise ProviderDown("gone")
        text = self.answers.pop(0)
        yield text
        yield Reply(
            text, self.finish, self.name, self.model, Usage(10, 5), "", 0.5, 2.0, 1.0
        )


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


def asks(text: str = "why?", **changes: object) -> Request:
    request = Request("critic", "You judge.", (Message("user", text),), temperature=0.0)
    return replace(request, **changes)  # type: ignore[arg-type]  # fields of a request, by name


Opening = Callable[..., AnswerCache]


@pytest.fixture
def opened(path: Path) -> Iterator[Opening]:
    with ExitStack() as open_files:
        def one(**given: object) -> AnswerCache:
            answers = AnswerCache(path, **given)  # type: ignore[arg-type]  # its own, by name
            open_files.callback(answers.close)
            return answers

        yield one


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "answers.db"


async def test_the_same_question_is_answered_again_for_nothing(opened: Opening) -> None:
    counting = Counting("because")
    cached = Cached(counting, opened())
    first = await whole(cached, asks())
    items = [item async for item in cached.stream(asks())]

    assert (first.cached, first.cost_usd) == (False, 0.5)
    assert items == ["because", replace(
        first, cached=True, cost_usd=0.0, usage=Usage(), wall_s=0.0, first_s=0.0, attempts=0
    )]
    assert counting.asked == 1


@pytest.mark.parametrize(
    "other",
    [
        asks("why not?"), asks(system="s"), asks(role="debugger"), asks(output=Json(SCHEMA)),
        asks(max_tokens=1), asks(seed=1), asks(effort="low"), asks(prompt="0f"),
    ],
)
async def test_another_question_is_not_answered_from_it(opened: Opening, other: Request) -> None:
    counting = Counting("one", "two")
    cached = Cached(counting, opened())
    await whole(cached, asks())
    assert (await whole(cached, other)).text == "two"


async def test_another_model_or_version_of_this_package_does_not_share(
    opened: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    await whole(Cached(Counting("one"), opened()), asks())
    large = Counting("two")
    large.model = "large"
    assert (await whole(Cached(large, opened()), asks())).text == "two"

    monkeypatch.setattr("llm.cache.code_version", lambda: "another")
    assert (await whole(Cached(Counting("three"), opened()), asks())).text == "three"
    assert len(code_version()) == 64


@pytest.mark.parametrize(
    ("request_", "everything", "calls"),
    [
        (asks(temperature=0.0), False, 1),
        (asks(temperature=0.7, seed=1), False, 1),
        (asks(temperature=0.7), False, 2),
        (asks(temperature=None), False, 2),  # as Claude is asked
        (asks(temperature=None), True, 1),
    ],
)
async def test_only_what_would_be_answered_alike_is_kept_unless_all_is(
    opened: Opening, request_: Request, everything: bool, calls: int
) -> None:
    counting = Counting("one", "two")
    cached = Cached(counting, opened(), everything=everything)
    await whole(cached, request_)
    await whole(cached, request_)
    assert counting.asked == calls


@pytest.mark.parametrize(
    "counting",
    [
        Counting("a", "b", finish="length"), Counting("a", "b", finish="refusal"),
        Counting("a", "b", finish="cut"),
        Counting("the key is sk-ant-api03-0123456789", "b"),
    ],
    ids=["length", "refusal", "cut", "key"],
)
async def test_an_answer_that_is_not_whole_or_not_to_be_kept_is_asked_for_anew(
    opened: Opening, counting: Counting
) -> None:
    cached = Cached(counting, opened())
    await whole(cached, asks())
    assert (await whole(cached, asks())).text == "b"


async def test_an_error_is_not_kept(opened: Opening) -> None:
    counting = Counting()
    cached = Cached(counting, opened())
    with pytest.raises(ProviderDown):
        await whole(cached, asks())
    counting.answers.append("back")
    assert (await whole(cached, asks())).text == "back"


async def test_a_refused_answer_is_not_served_again(opened: Opening) -> None:
    answers = opened()
    counting = Counting("no", '{"a": 1}', '{"a": 2}')
    cached = Cached(counting, answers)
    assert await ask_any(cached, asks(), SCHEMA) == {"a": 1}
    assert answers.size()[0] == 0
    assert await ask_any(cached, asks(), SCHEMA) == {"a": 2}
    assert await ask_any(cached, asks(), SCHEMA) == {"a": 2}
    assert counting.asked == 3


async def test_neither_of_two_refused_answers_is_served_again(opened: Opening) -> None:
    counting = Counting("no", "never", '{"a": 1}')
    cached = Cached(counting, opened())
    with pytest.raises(BadReply):
        await ask_any(cached, asks(), SCHEMA)
    assert await ask_any(cached, asks(), SCHEMA) == {"a": 1}


async def test_an_objection_without_the_answer_is_one_as_well(opened: Opening) -> None:
    """As where the window does not hold the refused answer once more."""
    counting = Counting("one", "two", "three", "four")
    cached = Cached(counting, opened())
    await whole(cached, asks())
    objection = asks("why?\nYour last answer was refused: not JSON", objects_to=asks())
    assert (await whole(cached, objection)).text == "two"
    assert (await whole(cached, asks())).text == "three"
    assert (await whole(cached, objection)).text == "four"


async def test_a_blank_answer_is_not_kept(opened: Opening) -> None:
    cached = Cached(Counting(" \n", "two"), opened())
    await whole(cached, asks())
    assert (await whole(cached, asks())).text == "two"


def reply(text: str) -> Reply:
    return Reply(text, "stop", "p", "m", Usage())


def test_what_was_used_last_stays_when_the_bound_is_reached(opened: Opening) -> None:
    answers = opened(most_bytes=1_500, clock=Clock())
    for name in "abc":
        answers.put(name, reply(name * 200))
    assert answers.size()[0] == 3
    assert answers.get("a") == reply("a" * 200)
    answers.put("d", reply("d" * 200))
    assert [name for name in "abcd" if answers.get(name)] == ["a", "c", "d"]
    assert answers.size()[1] <= 1_500
    answers.put("e", reply("e" * 2_000))
    assert [name for name in "acde" if answers.get(name)] == ["a", "c", "d"]


def test_what_is_old_is_not_served_and_goes(opened: Opening) -> None:
    clock = Clock()
    answers = opened(most_s=100.0, clock=clock)
    answers.put("a", reply("a"))
    clock.now += 101.0
    assert answers.get("a") is None
    answers.put("b", reply("b"))
    assert answers.size()[0] == 1


def test_processes_and_threads_share_it(opened: Opening) -> None:
    shared = opened()

    def work(name: str) -> None:
        own = opened()
        for number in range(10):
            own.put(f"{name}{number}", reply(name))
            assert shared.get(f"{name}{number}") == reply(name)

    threads = [threading.Thread(target=work, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert shared.size()[0] == 30
    assert shared.clear() == 30
    assert shared.size() == (0, 0)


def test_the_file_is_its_owners_and_holds_no_question(path: Path, opened: Opening) -> None:
    answers = opened()
    asyncio.run(_one(answers))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    for file in path.parent.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file
        assert b"a question of mine" not in file.read_bytes()
    answers.close()


async def _one(answers: AnswerCache) -> None:
    await whole(Cached(Counting("one"), answers), asks("a question of mine"))


def test_a_file_that_is_no_cache_is_told_in_words(path: Path, opened: Opening) -> None:
    path.write_bytes(b"not a database at all" * 100)
    with pytest.raises(BadCache, match=r"answers\.db cannot be used .*; delete that file"):
        AnswerCache(path)
    with pytest.raises(BadCache):
        AnswerCache(path.parent / "missing" / "answers.db")


def test_a_file_that_breaks_later_is_told_in_words(path: Path, opened: Opening) -> None:
    answers = opened()
    with sqlite3.connect(path) as other:
        other.execute("drop table answers")
    other.close()
    with pytest.raises(BadCache, match="no such table"):
        answers.get("a")
