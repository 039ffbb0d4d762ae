"""What the memory has to offer for a failing program: whole texts, each a small edit of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from agent.core.domain import Estimate, Project, Solution
from agent.memory.edits import defines_no_names, is_local, remade
from agent.memory.failures import FailureKey, project_key
from agent.memory.file import MemoryFault
from agent.memory.fixes import OWN, Memory, StoredFix
from agent.search.wording import edit_in_words
from agent.target.program import untouched

MAX_OFFERS = 6
ELSEWHERE = 0.9
MAX_PROJECT_OFFERS = 3


@dataclass(frozen=True)
class RememberedEdit:
    """A remembered fix, and what it makes of the failing program."""

    known: StoredFix
    base: Solution
    made: Mapping[str, str]
    """Path to text of the files that it changes."""
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
    def changes(self) -> Iterator[tuple[str, str, str]]:
        """Path, and text before and after, of the files that it changes."""
        texts = {file.path: file.text for file in self.base.files}
        return ((path, texts[path], text) for path, text in self.made.items())

    @property
    def done(self) -> str:
        """What it does to the program."""
        where = len(self.base.files) > 1
        return "; ".join(
            edit_in_words(before, after) + (f" ({path})" if where else "")
            for path, before, after in self.changes
        )

    @property
    def solution(self) -> Solution:
        """The program that it makes."""
        made = self.base.with_texts(dict(self.made), origin="memory")
        return made.model_copy(update={"note": self.note, "estimate": self.estimate})

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


def offers(
    memory: Memory, failure: FailureKey, base: Solution, project: Project | None = None
) -> Iterator[RememberedEdit]:
    """Fixes of this failure, then of similar ones: small edits of the program with its own tests
    untouched. Of a project its own fixes, those of another failure only where its files are the
    same. Raises: MemoryFault."""
    made_before = [{file.path: file.text for file in base.files}]
    if project is not None:
        found, most = _of_project(memory, failure, base, project), MAX_PROJECT_OFFERS
    else:
        found, most = _of_program(memory, failure, base), MAX_OFFERS
    for offer in found:
        files = made_before[0] | {**offer.made}
        if files not in made_before:
            made_before.append(files)
            yield offer
            if len(made_before) > most:
                return


def _of_program(memory: Memory, failure: FailureKey, base: Solution) -> Iterator[RememberedEdit]:
    text = base.text
    known_fixes = chain(
        ((known, False) for known in memory.exact(failure)),
        ((known, True) for known in memory.alike(failure)),
    )
    for known, elsewhere in known_fixes:
        # Whatever the signature says, where the program differs it is a fix of another one.
        same_program = known.fits(text)
        if not (same_program or elsewhere):
            continue
        made = _made_again(known.fix.before, known.fix.after, text, anywhere=not same_program)
        if made is not None and (known.trusted or defines_no_names(text, made)):
            yield RememberedEdit(known, base, {base.entry: made}, elsewhere, same_program)


def _of_project(
    memory: Memory, failure: FailureKey, base: Solution, project: Project
) -> Iterator[RememberedEdit]:
    texts = {file.path: file.text for file in base.files}
    for known in memory.of_project(failure, project_key(project)):
        exact = known.fix.failure.signature == failure.signature
        made = {
            one.path: text for one in known.fix.files if one.path in texts
            for text in [_made_again(one.before, one.after, texts[one.path], anywhere=exact)]
            if text is not None
        }
        if len(made) == len(known.fix.files):
            yield RememberedEdit(known, base, made, elsewhere=not exact, same_program=True)


def _made_again(before: str, after: str, text: str, *, anywhere: bool) -> str | None:
    made = remade(before, after, text, anywhere=anywhere)
    return made if made is not None and is_local(text, made) and untouched(text, made) else None


def open_memory(path: Path) -> Memory:
    """The memory in that file; where it cannot be used, a temporary one with a `notice`."""
    try:
        return Memory(path)
    except MemoryFault as error:
        memory = Memory(None)
        memory.notice = f"{error} This run goes on with an empty memory that is not kept."
        return memory
