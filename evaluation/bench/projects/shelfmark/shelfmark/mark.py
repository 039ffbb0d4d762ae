"""One shelf mark.

    REF QA 76.9 .D35 A12 1998 v.2 c.1
    |   |  |    |        |    |   |
    |   |  |    |        |    |   copy
    |   |  |    cutters  year volume
    |   |  number
    |   class
    collection

Cutters are a letter and digits that count as decimals: B12 stands before B2.
"""

import functools
import re

from shelfmark import classes

MARK = re.compile(
    r"""
    (?:(?P<collection>REF|OVERSIZE|MINI)\s+)?
    (?P<name>[A-Z]{1,3})\s*
    (?P<number>\d+(?:\.\d+)?)
    (?P<cutters>(?:\s*\.?\s*[A-Z]\d+[a-z]?)*)
    (?:\s+(?P<year>\d{4}[a-z]?))?
    (?:\s+(?:v|vol|pt|no)\.?\s*(?P<volume>\d+(?:[-/]\d+)?))?
    (?:\s+(?:c|copy)\.?\s*(?P<copy>\d+))?
    """,
    re.VERBOSE,
)
CUTTER = re.compile(r"([A-Z])(\d+)([a-z]?)")


class BadMark(ValueError):
    """A text is no shelf mark; `position` is where reading it stopped."""

    def __init__(self, text, position=0):
        super().__init__(f"cannot read {text!r} from {text[position:]!r} on")
        self.position = position


@functools.total_ordering
class Mark:
    """A shelf mark; marks are ordered as books stand.

    >>> Mark("qa76.9 .b12") == Mark("QA 76.9 B12")
    True
    >>> Mark("QA 76.9 B12") < Mark("QA 76.9 B2")
    True
    """

    def __init__(self, text):
        self.text = " ".join(text.split())
        found = MARK.match(self.text.upper()) if self.text else None
        if not found:
            raise BadMark(self.text)
        found = MARK.match(lowered_tail(self.text))
        if found.end() != len(self.text):
            raise BadMark(self.text, found.end())
        self.collection = found["collection"] or ""
        self.name = found["name"]
        self.number = found["number"]
        self.cutters = tuple(CUTTER.findall(found["cutters"]))
        self.year = found["year"] or ""
        self.volume = found["volume"] or ""
        self.copy = int(found["copy"] or 1)
        classes.title(self.name)

    @functools.cached_property
    def key(self):
        """What marks are ordered by."""
        whole, _, decimals = self.number.partition(".")
        return (
            self.collection,
            self.name,
            int(whole),
            decimals,
            tuple((letter, digits, work) for letter, digits, work in self.cutters),
            self.year,
            first_number(self.volume),
            self.copy,
        )

    @property
    def work(self):
        """The key without volume and copy: the same for all parts of a work."""
        return self.key[:-2]

    def __eq__(self, other):
        return self.key == other.key if isinstance(other, Mark) else NotImplemented

    def __lt__(self, other):
        return self.key < other.key if isinstance(other, Mark) else NotImplemented

    def __hash__(self):
        return hash(self.key)

    def __str__(self):
        parts = [self.collection, self.name, self.number]
        parts += ["".join(cutter) for cutter in self.cutters]
        parts.append(self.year)
        if self.volume:
            parts.append(f"v.{self.volume}")
        if self.copy > 1:
            parts.append(f"c.{self.copy}")
        return " ".join(part for part in parts if part)

    def __repr__(self):
        return f"Mark({str(self)!r})"


def lowered_tail(text):
    """Capitals for the mark, small letters for the words and work letters of its tail.

    >>> lowered_tail("ref qa 9 b3A V.2 C.1")
    'REF QA 9 B3a v.2 c.1'
    """
    text = re.sub(r"(?<=\d)[A-Z](?![A-Z\d])", lambda found: found[0].lower(), text.upper())
    return re.sub(r"(?<=\s)(?:VOL|V|PT|NO|COPY|C)(?=\.|\s*\d+$)", lambda found: found[0].lower(), text)


def first_number(volume):
    """The first number of "2" or "2-3"; 0 for none.

    >>> first_number("12-13")
    12
    """
    digits = re.match(r"\d+", volume)
    return int(digits[0]) if digits else 0
