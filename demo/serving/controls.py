"""The links by which others may decide for a visitor's run: each holds a word that only its owner
makes and takes back, and that is known as long as this server lives."""

from __future__ import annotations

from collections import OrderedDict
from secrets import compare_digest

from demo.serving.visitors import new_word

MOST_LENT = 10_000
"""Runs whose words are known; the one that was lent longest ago is forgotten first."""


class Controls:
    """Use from the serving event loop."""

    def __init__(self) -> None:
        self._words: OrderedDict[str, str] = OrderedDict()

    def lent(self, run: str) -> str:
        """The word of a run, the same until it is taken back."""
        word = self._words.setdefault(run, new_word())
        while len(self._words) > MOST_LENT:
            self._words.popitem(last=False)
        return word

    def taken_back(self, run: str) -> None:
        """Has the run's link only show it from now on."""
        self._words.pop(run, None)

    def holds(self, run: str, word: str) -> bool:
        """Whether that is the run's word."""
        known = self._words.get(run, "")
        return bool(known) and compare_digest(known.encode(), word.encode("utf-8", "replace"))
