"""What the memory has to offer for a failing program: whole texts, each a small edit of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from agent.core.domain import Estimate, FileChange, Project, Solution
from agent.intake.program import untouched
from agent.memory.edits import brings_no_names, is_local, remade
from agent.memory.failures import Failure, project_key
from agent.memory.file import MemoryFault
from agent.memory.fixes import OWN, Memory, StoredFix
from agent.repair.wording import edit_in_words

MOST_OFFERS = 6
ELSEWHERE = 0.9
MOST_PROJECT_OFFERS = 3


@dataclass(frozen=True)
class Offer:
    """A remembered fix, and what it makes of the failing program."""

    known: StoredFix
    text: str
    made: str
    elsewhere: bool
    """The fix was made for another program, or for this one under other tests."""
    same_program: bool

    @property
    def settled(self) -> bool:
        """When it was learned for this very failure, no other repair was left open."""
        return not self.elsewhere and self.known.fix.standing == "settled"

    @property
    def left_open(self) -> bool:
        """When it was learned for this program, other repairs passed too."""
        return self.same_program and self.known.fix.standing == "open"

    @property
    def caveat(self) -> str:
        """What its replay does not show, beyond that the tests pass."""
        if self.left_open:
            return ""  # who asks says more of that
        if not self.settled:
            return "whether other repairs fit them too was not looked for"
        fix = self.known.fix
        known = self.known.origin == OWN and fix.proof > "E1"
        return f"when it was learned, it reached {fix.proof}" if known else ""

    @property
    def done(self) -> str:
        """What it does to the program."""
        return edit_in_words(self.text, self.made)

    @property
    def estimate(self) -> Estimate:
        """How likely its replay is right: as when it was learned, less on another program."""
        chance = self.known.fix.confidence * (1.0 if self.same_program else ELSEWHERE)
        return Estimate.of(
            chance, "the fix was not certain when it was learned" if self.same_program
            else "the edit comes from another program",
        )

    @property
    def note(self) -> str:
        """What is done, and where it comes from."""
        source = "an edit that healed another program"
        if self.same_program:
            source = f"it was healed before{', under other tests' if self.elsewhere else ''}"
        source += ", one of several repairs that passed" if self.left_open else ""
        lender = "" if self.known.origin == OWN else f", {self.known.origin}"
        return f"from memory: {self.done} ({source}{lender})"


def offers(memory: Memory, failure: Failure, text: str) -> Iterator[Offer]:
    """Fixes of this failure, then of similar ones, at most `MOST_OFFERS`: small edits of the
    program with its own tests untouched. Raises: MemoryFault."""
    seen = {text}
    known_fixes = chain(
        ((known, False) for known in memory.exact(failure)),
        ((known, True) for known in memory.alike(failure)),
    )
    for known, elsewhere in known_fixes:
        # Whatever the signature says, where the program differs it is a fix of another one.
        same_program = known.fits(text)
        if not (same_program or elsewhere):
            continue
        made = remade(known.fix.before, known.fix.after, text, anywhere=not same_program)
        if made is None or made in seen or not is_local(text, made) or not untouched(text, made):
            continue
        if not (known.trusted or brings_no_names(text, made)):
            continue
        seen.add(made)
        yield Offer(known, text, made, elsewhere, same_program)
        if len(seen) > MOST_OFFERS:
            return


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
    made = remade(change.before, change.after, text, anywhere=exact)
    return made if made is not None and is_local(text, made) and untouched(text, made) else None


def open_memory(path: Path) -> Memory:
    """The memory in that file; where it cannot be used, a temporary one with a `notice`."""
    try:
        return Memory(path)
    except MemoryFault as error:
        memory = Memory(None)
        memory.notice = f"{error} This run goes on with an empty memory that is not kept."
        return memory
