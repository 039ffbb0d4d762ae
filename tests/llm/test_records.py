from __future__ import annotations

import asyncio
import json
import logging
import os
import stat
import threading
from collections.abc import AsyncGenerator, Callable
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from llm import BadReply, Json, LlmError, Message, Reply, Request, Usage
from llm.asking.ask import ask_code, whole
from llm.errors import (
    BadPrompt,
    CallFailed,
    NeedsKey,
    NoModel,
    NotRecorded,
    OverBudget,
    Overloaded,
    ProviderDown,
    RateLimited,
    Refused,
    TimedOut,
    Truncated,
    WrongKey,
)
from llm.provider import estimated_tokens
from llm.questions import fingerprint, question_of
from llm.records import BadRecord, Recording, Replaying, answered, writable
from llm.redaction import Redactor
from tests.llm.scripted import Answer, Scripted, ask_any, saying

KEY = "sk-ant-api03-" + "Canary1" * 5
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
USAGE = Usage(10, 20, 3, 4)
REPLIED = asdict(Reply("x", "stop", "p", "m", USAGE))


def asks(text: str = "why?", **changes: object) -> Request:
    request = Request("critic", "You judge.", (Message("user", text),))
    return replace(request, **changes)  # type: ignore[arg-type]  # fields of a request, by name


async def heard(
    provider: Recording | Replaying, request: Request
) -> list[str | Reply | tuple[object, ...]]:
    """All that a stream gives, its error in parts at the end."""
    items: list[str | Reply | tuple[object, ...]] = []
    try:
        async for item in provider.stream(request):
            items.append(item)
    except LlmError as error:
        told = {**vars(error)}
        # All but that nothing is paid for it now.
        assert told.pop("replayed", False) == (
            isinstance(provider, Replaying) and isinstance(error, CallFailed)
        )
        items.append((type(error), str(error), told))
    return items


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.jsonl"


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


async def test_a_record_replays_to_the_same_pieces_replies_and_errors(path: Path) -> None:
    down = ProviderDown("reset", started=True, usage=Usage(5, 1, estimated=True))
    recording = Recording(Scripted([
        Answer(("so", " so", "!"), USAGE, note="a note"),
        Answer(("",)),
        Answer(("half",), fault=down),
        RateLimited("slowly", retry_after_s=7.5),
        OverBudget("too dear", "run dollars"),
        Answer(("again",), finish="length"),
    ]), path)
    questions = [asks("a"), asks("b"), asks("c"), asks("d"), asks("e"), asks("a")]
    first = [await heard(recording, one) for one in questions]
    replaying = Replaying(path)
    second = [await heard(replaying, one) for one in questions]

    def now(items: list[str | Reply | tuple[object, ...]]) -> list[object]:
        return [replace(item, cached=True, cost_usd=0.0) if isinstance(item, Reply) else item
                for item in items]

    assert second == [now(items) for items in first]
    assert [len(items) for items in second] == [4, 2, 2, 1, 1, 2]
    assert (replaying.name, replaying.model) == ("scripted", "m")


@pytest.mark.parametrize("error", [
    NoModel("a"), BadPrompt("b"), BadReply("c"), Truncated("d"), Refused("e: cyber"),
    NotRecorded("f"), NeedsKey("g", "GROQ_API_KEY"), OverBudget("h", "role tokens"),
    WrongKey("i", started=False), TimedOut("j", started=True, usage=USAGE),
    Overloaded("k", retry_after_s=None, started=True), CallFailed("l"),
], ids=lambda error: type(error).__name__)
async def test_every_kind_of_error_comes_back_as_it_was(path: Path, error: LlmError) -> None:
    first = await heard(Recording(Scripted([error]), path), asks())
    assert await heard(Replaying(path), asks()) == first == [(type(error), str(error), vars(error))]


async def test_an_error_of_a_providers_own_comes_back_as_the_one_it_is_a_kind_of(
    path: Path,
) -> None:
    class Asleep(Overloaded):
        """A provider's own word."""

    await heard(Recording(Scripted([Asleep("zzz", retry_after_s=1.0)]), path), asks())
    ((kind, words, _),) = await heard(Replaying(path), asks())  # type: ignore[misc]
    assert (kind, words) == (Overloaded, "zzz")


async def test_what_asks_again_replays_alike(path: Path) -> None:
    async def conversation(provider: Recording | Replaying) -> list[object]:
        said: list[object] = [
            await ask_any(provider, asks("count", output=Json(SCHEMA)), SCHEMA),
            await ask_code(provider, asks("write")),
        ]
        with pytest.raises(BadReply) as caught:
            await ask_any(provider, asks("fail"), SCHEMA)
        return [*said, str(caught.value)]

    recorded = await conversation(Recording(saying(
        '{"b": 1}', '{"a": 1}', "```python\nx = 1\n```", "no", "never"
    ), path))
    assert recorded[:2] == [{"a": 1}, "x = 1\n"]
    assert await conversation(Replaying(path)) == recorded


async def test_the_same_question_is_answered_in_the_order_recorded_and_no_oftener(
    path: Path,
) -> None:
    recording = Recording(saying("one", "two"), path)
    await whole(recording, asks())
    await whole(recording, asks())
    replaying = Replaying(path)
    assert [(await whole(replaying, asks())).text for _ in "ab"] == ["one", "two"]
    with pytest.raises(NotRecorded, match=r"'critic' .* 3 .* 2 "):
        await whole(replaying, asks())


@pytest.mark.parametrize(("asked", "told"), [
    (asks("why not?"), r"2 .* messages: .* not\?'"),
    (asks(temperature=0.5), "temperature: .*'0.5'.*'null'"),
    (asks(max_tokens=7, effort="low"), "max_tokens: .*'7'.* effort: "),
    (asks(output=Json(SCHEMA)), "output: "),
    (asks(role="debugger"), "critic"),
])
async def test_a_question_that_is_not_recorded_says_what_is_most_like_it(
    path: Path, asked: Request, told: str
) -> None:
    recording = Recording(saying("one", "two"), path)
    await whole(recording, asks())
    await whole(recording, asks("something else entirely"))
    with pytest.raises(NotRecorded, match=told):
        await whole(Replaying(path), asked)


async def test_what_is_said_of_a_long_question_is_short(path: Path) -> None:
    long = "word " * 20_000
    await whole(Recording(saying("one"), path), asks(long, system=long))
    with pytest.raises(NotRecorded) as caught:
        await whole(Replaying(path), asks(f"{long}x", system=f"x{long}"))
    assert len(str(caught.value)) < 800


async def test_no_secret_is_written_and_the_replay_still_finds_its_place(path: Path) -> None:
    redactor = Redactor(["hush-hush-1"])

    async def conversation(provider: Recording | Replaying) -> str:
        first = await whole(provider, asks(f"my key is {KEY}"))
        return (await whole(provider, asks(f"you said {first.text}"))).text

    recording = Recording(
        Scripted([
            Answer(("it is hush", "-hush-1 or ", KEY[:15], KEY[15:])), Answer(("fine",)),
            WrongKey(f"{KEY}?"),
        ]), path, redactor,
    )
    assert await conversation(recording) == "fine"
    await heard(recording, asks("e"))
    written = path.read_text("utf-8")
    assert "hush-hush-1" not in written
    assert "Canary1" not in written
    # The one who replays knows no secret any more.
    assert await conversation(Replaying(path)) == "fine"


async def test_a_record_is_readable_by_its_owner_only(path: Path) -> None:
    path.touch(mode=0o644)
    await whole(Recording(saying("one"), path), asks())
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


async def test_a_call_that_nobody_reads_to_its_end_is_ended_and_written_down(path: Path) -> None:
    scripted = Scripted([Answer(("a", "b", "c"))])
    stream = Recording(scripted, path).stream(asks())
    assert isinstance(stream, AsyncGenerator)
    assert await anext(stream) == "a"
    await stream.aclose()

    assert scripted.dropped == 1
    items = await heard(Replaying(path), asks())
    assert (items[0], len(items)) == ("a", 2)


async def test_the_answer_is_written_before_it_is_given(path: Path) -> None:
    async for item in Recording(saying("one"), path).stream(asks()):
        if isinstance(item, Reply):
            assert len(lines(path)) == 1


async def test_what_a_kill_leaves_of_a_line_is_told_and_the_rest_is_replayed(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    recording = Recording(saying("one", "two", "three"), path)
    await whole(recording, asks("a"))
    await whole(recording, asks("b"))
    path.write_bytes(path.read_bytes()[:-40])

    replaying = Replaying(path)
    assert "line 2" in answered(path)[1]
    assert (await whole(replaying, asks("a"))).text == "one"
    with pytest.raises(NotRecorded):
        await whole(replaying, asks("b"))

    caplog.clear()
    with caplog.at_level(logging.WARNING):
        await whole(recording, asks("c"))
    assert caplog.text
    assert len(lines(path)) == 2
    assert answered(path)[1] == ""


@pytest.mark.parametrize("damage", [
    lambda line: {**line, "version": 2},
    lambda line: {**line, "kind": "sing"},
    lambda line: {**line, "key": "0"},
    lambda line: {**line, "deltas": [1]},
    lambda line: {**line, "reply": {"text": "x"}},
    lambda line: {**line, "reply": {**REPLIED, "usage": {"input": -5}}},
    lambda line: {**line, "reply": {**REPLIED, "usage": {"output": 10**400}}},
    lambda line: {**line, "kind": "count", "provider": "p", "model": "m", "text": "t",
                  "tokens": float("inf")},
    lambda line: {"version": 1},
    lambda line: [line],
])
async def test_a_record_that_is_damaged_or_of_another_version_is_refused(
    path: Path, damage: Callable[[dict[str, object]], object]
) -> None:
    await whole(Recording(saying("one"), path), asks())
    (line,) = lines(path)
    path.write_text(json.dumps(damage(line)) + "\n", "utf-8")
    with pytest.raises(BadRecord, match=r"line 1"):
        Replaying(path)


@pytest.mark.parametrize("octets", [b"[" * 100_000, b'{"version":' + b"9" * 5_000 + b"}"])
def test_a_line_that_json_itself_gives_up_on_is_a_damaged_one(path: Path, octets: bytes) -> None:
    path.write_bytes(octets + b"\n")
    for read in (Replaying, answered):
        with pytest.raises(BadRecord, match=r"line 1"):
            read(path)


def test_a_place_that_cannot_be_written_or_read_is_refused(tmp_path: Path) -> None:
    writable(tmp_path / "new.jsonl")
    assert (tmp_path / "new.jsonl").read_bytes() == b""
    for no_place in (tmp_path, tmp_path / "missing" / "run.jsonl"):
        with pytest.raises(BadRecord):
            writable(no_place)
        with pytest.raises(BadRecord):
            Recording(Scripted(), no_place)
    with pytest.raises(BadRecord):
        Replaying(tmp_path / "missing.jsonl")


def test_what_is_no_plain_file_is_left_as_it_is(tmp_path: Path) -> None:
    """As root, a record in /dev/null would have closed it to all others."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe, 0o644)
    before = stat.S_IMODE(pipe.stat().st_mode)
    with pytest.raises(BadRecord):
        Recording(Scripted(), pipe)
    assert stat.S_IMODE(pipe.stat().st_mode) == before


async def test_several_providers_share_a_record_and_each_is_replayed_by_name(path: Path) -> None:
    other = replace(saying("of the other"), model="large")
    await whole(Recording(saying("of this"), path), asks())
    await whole(Recording(other, path), asks())
    with pytest.raises(BadRecord, match="scripted/m, scripted/large"):
        Replaying(path)
    replaying = Replaying(path, "scripted", "large")
    assert (await whole(replaying, asks())).text == "of the other"
    assert answered(path) == ({"critic": (("scripted", "m"), ("scripted", "large"))}, "")
    with pytest.raises(NotRecorded, match=r"model: .*'huge'"):
        await whole(Replaying(path, "scripted", "huge"), asks())


async def test_runs_side_by_side_write_whole_lines(path: Path) -> None:
    long = "x" * 70_000

    async def run(name: str) -> None:
        recording = Recording(saying(*(f"{name}{number}{long}" for number in range(5))), path)
        await asyncio.gather(*(whole(recording, asks(f"{name}{number}")) for number in range(5)))

    threads = [threading.Thread(target=lambda name=name: asyncio.run(run(name))) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    replaying = Replaying(path)
    for name in "abcd":
        for number in range(5):
            text = (await whole(replaying, asks(f"{name}{number}"))).text
            assert text == f"{name}{number}{long}"


async def test_what_a_model_counts_is_counted_alike_without_it(path: Path) -> None:
    recording = Recording(replace(saying("one"), exact=True, window=4_096, thinks=True), path)
    text, as_estimated = "a text of more tokens than estimated", "äöü"
    assert recording.count(text) == recording.count(text) == len(text) > estimated_tokens(text)
    assert recording.count(as_estimated) == estimated_tokens(as_estimated)
    await whole(recording, asks())

    assert [line["kind"] for line in lines(path)] == ["count", "call"]
    replaying = Replaying(path)
    assert (replaying.count(text), replaying.count("abc")) == (len(text), 1)
    assert (replaying.exact, replaying.window, replaying.thinks) == (True, 4_096, True)
    assert await replaying.models() == ("m",)


async def test_what_a_provider_learns_by_answering_is_learned_again(path: Path) -> None:
    learning = saying("one", "two")
    live = Recording(learning, path)
    for known in (False, True):
        assert live.thinks == known
        await heard(live, asks())
        learning.thinks = True
    replaying = Replaying(path)
    for known in (False, True):
        assert replaying.thinks == known
        await heard(replaying, asks())


def test_a_question_keeps_the_hash_that_files_have_of_it() -> None:
    """Records and logs of earlier versions are read by it."""
    asked = question_of("scripted", "m", asks(output=Json({"type": "object"})))
    assert fingerprint(asked) == (
        "7c3cda54745e681c4bc82f1a2a1582494fdd12303d58e25adad04ad67e1d1cba"
    )


def test_samples_that_differ_in_their_seed_are_two_questions() -> None:
    first, second = (
        fingerprint(question_of("llamacpp", "m", replace(asks(), temperature=0.7, seed=seed)))
        for seed in (1, 2)
    )
    assert first != second
