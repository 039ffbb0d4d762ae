"""What the memory has to offer for a failing program: whole texts, each a small edit of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from agent.core.domain import Estimate, FileChange, Project, Solution
from agent.intake.program import untouched
from agent.memory.edits import edit_between
from agent.memory.failures import Failure, project_key
from agent.memory.file import MemoryFault
from agent.memory.fixes import OWN, Memory, StoredFix
from agent.memory.locality import brings_no_names, is_local
from agent.memory.placing import applied, contexts, returned
from agent.repair.wording import edit_in_words

MOST_OFFERS = 6
ELSEWHERE = 0.9
MOST_PROJECT_OFFERS = 3
MOST_PLACES_OFFERED = 3


@dataclass(frozen=True)
class Offer:
    """A remembered fix, and the texts it makes of the failing program."""

    known: StoredFix
    text: str
    texts: tuple[str, ...]
    elsewhere: bool
    """The fix was made for another program, or for this one under other tests."""
    at_home: bool

    @property
    def settled(self) -> bool:
        """When it was learned for this very failure, no other repair was left open."""
        return not self.elsewhere and self.known.fix.standing == "settled"

    @property
    def left_open(self) -> bool:
        """When it was learned for this program, other repairs passed too."""
        return self.at_home and self.known.fix.standing == "open"

    @property
    def caveat(self) -> str:
        """What its replay leaves unsaid, which shows that the tests pass and no more."""
        if self.left_open:
            return ""  # who asks says more of that
        if not self.settled:
            return "whether other repairs fit them too was not looked for"
        fix = self.known.fix
        known = self.known.origin == OWN and fix.proof > "E1"
        return f"when it was learned, it reached {fix.proof}" if known else ""

    def done(self, made: str) -> str:
        """What one of the texts does to the program."""
        return edit_in_words(self.text, made)

    @property
    def estimate(self) -> Estimate:
        """How likely its replay is right: as when it was learned, less on another program."""
        chance = self.known.fix.confidence * (ELSEWHERE if not self.at_home else 1.0)
        return Estimate.of(
            chance, "the edit comes from another program" if not self.at_home
            else "the fix was not certain when it was learned",
        )

    def note(self, made: str) -> str:
        """What is done, and where it comes from."""
        source = "it was healed before" if self.at_home else "an edit that healed another program"
        source += ", under other tests" if self.at_home and self.elsewhere else ""
        source += ", one of several repairs that passed" if self.left_open else ""
        lender = "" if self.known.origin == OWN else f", {self.known.origin}"
        return f"from memory: {self.done(made)} ({source}{lender})"


def offers(memory: Memory, failure: Failure, text: str) -> Iterator[Offer]:
    """Fixes of this failure, then of similar ones, at most `MOST_OFFERS` texts: small edits of the
    program with its own tests untouched. Raises: MemoryFault."""
    seen = {text}
    for known, elsewhere in _known(memory, failure, text):
        at_home = known.fits(text)
        # Whatever the signature says, where it does not fit it is a fix of another program.
        made = _replayed(known, text) if at_home else _carried(known, text) if elsewhere else ()
        fresh = [
            one for one in dict.fromkeys(made)
            if one not in seen and is_local(text, one)
            and (known.trusted or brings_no_names(text, one))
        ]
        fresh = fresh[: MOST_OFFERS + 1 - len(seen)]
        if fresh:
            seen.update(fresh)
            yield Offer(known, text, tuple(fresh), elsewhere, at_home)
        if len(seen) > MOST_OFFERS:
            return


def _known(
    memory: Memory, failure: Failure, text: str
) -> Iterator[tuple[StoredFix, bool]]:
    """Fixes, and whether each is one of another failure."""
    for known in memory.exact(failure):
        yield known, False
    if memory.knows_alike(failure):
        for known in memory.alike(failure, contexts(text)):
            yield known, True


def _replayed(known: StoredFix, text: str) -> tuple[str, ...]:
    if text == known.fix.before:
        return (known.fix.after,) if untouched(text, known.fix.after) else ()
    again = returned(known.fix.before, known.fix.after, text)
    return () if again is None else (again,)


def _carried(known: StoredFix, text: str) -> tuple[str, ...]:
    edit = known.fix.edit
    return () if edit is None else applied(edit, text, MOST_PLACES_OFFERED)


def project_offers(
    memory: Memory, failure: Failure, project: Project, base: Solution
) -> Iterator[tuple[StoredFix, Solution]]:
    """A project's own fixes in its files as they are now, at most `MOST_PROJECT_OFFERS`; those of
    another failure only where the files are the same. Raises: MemoryFault."""
    seen = {base.files}
    texts = {file.path: file.text for file in base.files}
    for known in memory.of_project(failure, project_key(project)):
        exact = known.fix.failure.signature == failure.signature
        made = {
            one.path: text for one in known.fix.files
            if (text := _made_again(one, texts.get(one.path), exact)) is not None
        }
        solution = base.with_texts(made, origin="memory")
        if len(made) < len(known.fix.files) or solution.files in seen:
            continue
        seen.add(solution.files)
        done = "; ".join(f"{edit_in_words(texts[path], made[path])} ({path})" for path in made)
        under = "" if exact else " under other tests"
        yield known, solution.model_copy(
            update={"note": f"from memory: {done} (it was healed before{under})"}
        )
        if len(seen) > MOST_PROJECT_OFFERS:
            return


def _made_again(change: FileChange, text: str | None, exact: bool) -> str | None:
    if text is None:
        return None
    made = change.after if text == change.before else returned(change.before, change.after, text)
    if made is None and exact:
        edit = edit_between(change.before, change.after)
        made = next(iter(applied(edit, text, 1)), None) if edit is not None else None
    return made if made is not None and is_local(text, made) and untouched(text, made) else None


def open_memory(path: Path) -> Memory:
    """The memory in that file; where it cannot be used, a temporary one with a `notice`."""
    try:
        return Memory(path)
    except MemoryFault as error:
        memory = Memory(None)
        memory.notice = f"{error} This run goes on with an empty memory that is not kept."
        return memory
