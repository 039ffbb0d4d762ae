"""Candidate repairs from the memory: stored edits applied to the failing program."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from agent.core.domain import LEAST_CHANCE, Estimate, Project, Solution
from agent.memory.edits import is_small_edit, reapply_edit, uses_only_known_names
from agent.memory.failures import FailureKey, project_key
from agent.memory.file import MemoryFault
from agent.memory.fixes import OWN, Memory, StoredFix
from agent.search.wording import edit_in_words
from agent.target.program import keeps_own_tests

MAX_OFFERS = 6
DISCOUNT = 0.9
MIN_CHOSEN = 1 - LEAST_CHANCE
"""The minimum confidence of a fix that the user chose or accepted."""
MAX_PROJECT_OFFERS = 3


@dataclass(frozen=True)
class RememberedEdit:
    """A stored fix and its result for the failing program."""

    stored: StoredFix
    base: Solution
    new_texts: Mapping[str, str]
    """The new texts of the changed files, by path."""
    other_failure: bool
    """The fix was learned for another program, or for this one with other tests."""
    same_program: bool

    @property
    def is_settled(self) -> bool:
        """Whether no competing patch was open when it was learned for exactly this failure."""
        return not self.other_failure and self.stored.fix.competition == "settled"

    @property
    def left_open(self) -> bool:
        """Whether competing patches passed too when it was learned for this program."""
        return self.same_program and self.stored.fix.competition == "open"

    @property
    def other_tests(self) -> bool:
        """Whether the fix was learned for this program, which is no project, with other tests."""
        return self.same_program and self.other_failure and not self.stored.fix.project

    @property
    def caveat(self) -> str:
        """The limits of what a passing replay proves."""
        if self.left_open:
            return ""  # the caller adds its own caveat
        if not self.is_settled:
            return "other repairs may pass the tests too, which was not checked"
        fix = self.stored.fix
        known = self.stored.origin == OWN and fix.proof > "E1"
        return f"when it was learned, it reached {fix.proof}" if known else ""

    @property
    def changes(self) -> Iterator[tuple[str, str, str]]:
        texts = {file.path: file.text for file in self.base.files}
        return ((path, texts[path], text) for path, text in self.new_texts.items())

    @property
    def change_words(self) -> str:
        several = len(self.base.files) > 1
        return "; ".join(
            edit_in_words(before, after) + (f" ({path})" if several else "")
            for path, before, after in self.changes
        )

    @property
    def solution(self) -> Solution:
        repaired = self.base.with_texts(dict(self.new_texts), origin="memory")
        return repaired.model_copy(update={"note": self.note, "estimate": self.estimate})

    @property
    def estimate(self) -> Estimate:
        """How likely it is correct: as when it was learned, less for other tests or programs."""
        why = "the edit comes from another program"
        if self.same_program:
            why = "the fix was learned with other tests" if self.other_tests else (
                "the fix was not certain when it was learned"
            )
        is_elsewhere = self.other_tests or not self.same_program
        return Estimate.of(self.stored.fix.confidence * (DISCOUNT if is_elsewhere else 1.0), why)

    @property
    def note(self) -> str:
        """A description of its changes and its source."""
        source = "an edit that healed another program"
        if self.same_program:
            chosen = self.stored.origin == OWN and self.stored.fix.confidence >= MIN_CHOSEN
            source = "you chose or accepted it before" if chosen else "it was healed before"
            source += ", with other tests" if self.other_failure else ""
        source += ", one of several repairs that passed" if self.left_open else ""
        origin = "" if self.stored.origin == OWN else f", {self.stored.origin}"
        return f"from memory: {self.change_words} ({source}{origin})"


def applicable_fixes(
    memory: Memory, failure: FailureKey, base: Solution, project: Project | None = None
) -> Iterator[RememberedEdit]:
    """Yields fixes of this failure, then of similar ones: small edits that leave the program's own
    tests unchanged. For a project only its own fixes, and those of another failure only if its
    files are the same. Raises `MemoryFault`."""
    known = [{file.path: file.text for file in base.files}]
    if project is not None:
        found, limit = _project_fixes(memory, failure, base, project), MAX_PROJECT_OFFERS
    else:
        found, limit = _program_fixes(memory, failure, base), MAX_OFFERS
    for offer in found:
        files = known[0] | {**offer.new_texts}
        if files not in known:
            known.append(files)
            yield offer
            if len(known) > limit:
                return


def _program_fixes(memory: Memory, failure: FailureKey, base: Solution) -> Iterator[RememberedEdit]:
    text = base.text
    known_fixes = chain(
        ((known, False) for known in memory.exact(failure)),
        ((known, True) for known in memory.alike(failure)),
    )
    for known, elsewhere in known_fixes:
        # Even if the signature matches, a fix of a different program is not used as an exact one.
        same_program = known.fits(text)
        if not (same_program or elsewhere):
            continue
        repaired = _reapply(known.fix.before, known.fix.after, text, anywhere=not same_program)
        if repaired is not None and (known.trusted or uses_only_known_names(text, repaired)):
            yield RememberedEdit(known, base, {base.entry: repaired}, elsewhere, same_program)


def _project_fixes(
    memory: Memory, failure: FailureKey, base: Solution, project: Project
) -> Iterator[RememberedEdit]:
    texts = {file.path: file.text for file in base.files}
    for known in memory.of_project(failure, project_key(project)):
        exact = known.fix.failure.signature == failure.signature
        repaired = {
            one.path: text for one in known.fix.files if one.path in texts
            for text in [_reapply(one.before, one.after, texts[one.path], anywhere=exact)]
            if text is not None
        }
        if len(repaired) == len(known.fix.files):
            yield RememberedEdit(known, base, repaired, other_failure=not exact, same_program=True)


def _reapply(before: str, after: str, text: str, *, anywhere: bool) -> str | None:
    new = reapply_edit(before, after, text, anywhere=anywhere)
    is_usable = new is not None and is_small_edit(text, new) and keeps_own_tests(text, new)
    return new if is_usable else None


def open_memory(path: Path) -> Memory:
    """Opens the memory of a file, or a temporary one with a `notice` if the file is unusable."""
    try:
        return Memory(path)
    except MemoryFault as error:
        memory = Memory(None)
        memory.notice = f"{error} This run uses an empty memory that is not saved."
        return memory
