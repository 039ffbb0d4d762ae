from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from llm.asking.trimming import Cut, Fitted, Keep, Part, fit, shortened
from llm.errors import ContextOverflow


def characters(texts: Mapping[str, str]) -> int:
    return sum(len(text) for text in texts.values())


def text(lines: int, width: int = 20) -> str:
    return "".join(f"{number:0{width - 1}d}\n" for number in range(lines))


def test_the_least_useful_part_is_shortened_first_and_what_was_cut_is_said() -> None:
    parts = (
        Part("code", text(10), 100), Part("failures", text(50), 50, floor=200),
        Part("lessons", text(50), 10, floor=0),
    )
    fitted = fit(parts, 1_900, characters)
    assert fitted.texts["code"] == text(10) and fitted.texts["failures"] == text(50)
    assert fitted.cuts == (Cut("lessons", 640, 1_000),)
    assert all(fact in fitted.words for fact in ("lessons", "1,000", "640"))
    assert "1,000" in fitted.texts["lessons"]


def test_a_shortened_text_keeps_whole_lines_of_its_head_and_tail() -> None:
    part = Part("failures", text(50), 1, floor=100)
    shown = shortened(part, 215).split("\n")
    assert shown[:5] == text(5).split("\n")[:5]
    assert shown[-6:-1] == text(50).split("\n")[-6:-1]
    assert len(shown) == 12


@pytest.mark.parametrize(("keep", "start", "end"), [("head", "a", "."), ("tail", ".", "z")])
def test_the_end_that_matters_is_kept(keep: Keep, start: str, end: str) -> None:
    part = Part("output", "a" * 500 + "z" * 500, 1, floor=0, keep=keep)
    shown = shortened(part, 300).replace("\n", "").replace("[", ".").replace("]", ".")
    assert (shown[0], shown[-1]) == (start, end)


def test_what_cannot_be_cut_is_named() -> None:
    parts = (Part("code", "x" * 500, 100), Part("lessons", "y" * 500, 1, floor=0))
    with pytest.raises(ContextOverflow, match=r"500 .* 300\b.* code "):
        fit(parts, 300, characters)


def cut_to(part: Part, room: int) -> int:
    """Characters of a part that are shown where it is the only one."""
    (cut,) = fit((part,), room, characters).cuts
    return cut.kept


def test_the_room_is_used_whatever_the_lines() -> None:
    mark = len("\n[... a part of these 1,000 characters is left out here ...]\n")
    for keep in KEEPS:
        line = "" if keep != "tail" else "\n"  # nothing stands before the mark there
        part = Part("output", "x" * 1_000, 1, floor=0, keep=keep)
        assert cut_to(part, 501) == 501 - mark + len(line)

    assert cut_to(Part("output", "short\n" + "x" * 1_000, 1, floor=0, keep="head"), 500) > 400
    assert cut_to(Part("output", "x" * 1_000 + "\nshort", 1, floor=0, keep="tail"), 500) > 400
    assert cut_to(Part("output", "x" * 1_000, 1, floor=0, keep="tail"), 200) > 100

    assert cut_to(Part("output", "x" * 1_000, 1, floor=0), 100) == 0


def test_a_part_is_not_cut_where_the_mark_takes_what_it_makes() -> None:
    with pytest.raises(ContextOverflow, match=r"code .*150"):
        fit((Part("code", "x" * 150, 1, floor=120),), 140, characters)


# The laws, for counts of many kinds: of characters, of words, of one letter, in steps, and of a
# whole in which two parts cost more together than each alone.

LETTERS = "ab \n["
KEEPS: list[Keep] = ["head", "tail", "both"]


def tokens_by_squares(texts: Mapping[str, str]) -> int:
    return characters(texts) ** 2 // 100


COUNTS = [
    characters,
    tokens_by_squares,
    lambda texts: -(-characters(texts) // 7) * 7,
    lambda texts: sum(text.count("a") for text in texts.values()),
    lambda texts: max((len(text) for text in texts.values()), default=0),
    lambda texts: 10 * sum(1 for text in texts.values() if text) + characters(texts) // 3,
]

SIZES = st.integers(0, 700)


@st.composite
def questions(draw: st.DrawFn) -> tuple[Part, ...]:
    parts = []
    for name in "abcd"[: draw(st.integers(1, 4))]:
        pattern = draw(st.text(LETTERS, min_size=1, max_size=90))
        size = draw(SIZES)
        parts.append(Part(
            name, (pattern * size)[:size], draw(st.integers(0, 3)),
            draw(st.one_of(st.none(), st.just(0), st.integers(1, 300))),
            draw(st.sampled_from(KEEPS)),
        ))
    return tuple(parts)


def least(part: Part) -> int:
    return len(part.text) if part.floor is None else min(part.floor, len(part.text))


def shown(parts: tuple[Part, ...], fitted: Fitted) -> dict[str, int]:
    kept = {cut.name: cut.kept for cut in fitted.cuts}
    return {part.name: kept.get(part.name, len(part.text)) for part in parts}


@given(questions(), st.integers(0, 2_000), st.sampled_from(COUNTS))
def test_the_result_fits_or_says_that_it_cannot(parts, room, count) -> None:  # type: ignore[no-untyped-def]
    try:
        fitted = fit(parts, room, count)
    except ContextOverflow:
        return
    assert count(fitted.texts) <= room
    assert fitted == fit(parts, room, count)
    assert fitted.texts.keys() == {part.name for part in parts}
    assert all(shown(parts, fitted)[part.name] >= least(part) for part in parts)
    if count({part.name: part.text for part in parts}) <= room:
        assert not fitted.cuts


@given(questions(), st.integers(0, 2_000), st.sampled_from(COUNTS))
def test_a_part_is_cut_only_after_all_less_useful_ones(
    parts, room, count,  # type: ignore[no-untyped-def]
) -> None:
    try:
        fitted = fit(parts, room, count)
    except ContextOverflow:
        return
    order = sorted(enumerate(parts), key=lambda pair: (pair[1].priority, -pair[0]))
    cuts = {cut.name: cut for cut in fitted.cuts}
    touched = [place for place, (_, part) in enumerate(order) if part.name in cuts]
    for _, part in order[: touched[-1] if touched else 0]:
        room_for_a_mark = len(part.text) > least(part) + 100
        if part.name in cuts:
            assert cuts[part.name].kept == part.floor
        else:
            assert not room_for_a_mark


@given(questions(), st.integers(0, 2_000), st.integers(0, 300), st.sampled_from(COUNTS))
def test_more_room_never_shows_less(parts, room, more, count) -> None:  # type: ignore[no-untyped-def]
    try:
        narrow = fit(parts, room, count)
    except ContextOverflow:
        assume(False)
        return
    wide = fit(parts, room + more, count)
    before, after = shown(parts, narrow), shown(parts, wide)
    assert all(after[name] >= before[name] for name in before)


@given(questions())
def test_what_is_shown_of_a_part_grows_with_what_is_kept(parts: tuple[Part, ...]) -> None:
    for part in parts:
        last = ""
        for kept in range(0, len(part.text), 7):
            now = shortened(part, kept)
            assert _within(last, now)
            last = now


def _within(less: str, more: str) -> bool:
    """Whether `less` can be made from `more` by leaving characters out."""
    rest = iter(more)
    return all(character in rest for character in less)
