"""How long snapshots stay.

A policy is written "last=3 daily=7 weekly=4 monthly=6 yearly=1". Each rule keeps the newest
snapshot of its newest periods; `last` keeps the newest ones whatever their age. A snapshot that
another one needs to be restored stays with it.
"""

import dataclasses
import re
from typing import NamedTuple

from .snapshot import Catalog, Snapshot

#: rule -> the period that a snapshot belongs to
PERIODS = {
    "hourly": lambda time: (time.date(), time.hour),
    "daily": lambda time: time.date(),
    "weekly": lambda time: time.isocalendar()[:2],
    "monthly": lambda time: (time.year, time.month),
    "quarterly": lambda time: (time.year, (time.month - 1) // 3),
    "yearly": lambda time: time.year,
}
RULE = re.compile(r"(\w+)\s*=\s*(\d+|all)")


class Verdict(NamedTuple):
    """What becomes of a snapshot, and why."""

    snapshot: Snapshot
    stays: bool
    reasons: tuple = ()


@dataclasses.dataclass
class Policy:
    """How many periods of each kind are kept; None keeps all of them."""

    last: int = 1
    rules: dict = dataclasses.field(default_factory=dict)
    protected: frozenset = frozenset()

    @classmethod
    def parse(cls, text):
        """The policy of a text; raises ValueError."""
        policy = cls()
        for key, number in RULE.findall(text):
            count = None if number == "all" else int(number)
            if key == "last":
                policy.last = count
            elif key in PERIODS:
                policy.rules[key] = count
            else:
                raise ValueError(f"unknown rule {key!r}")
        rest = RULE.sub("", text).strip(" ,;")
        if rest:
            raise ValueError(f"cannot read {rest!r}")
        return policy

    def reasons(self, snapshots):
        """Snapshot -> the rules that keep it, for snapshots of one source."""
        newest_first = sorted(snapshots, reverse=True)
        reasons = {snapshot: [] for snapshot in newest_first}
        for snapshot in newest_first[: self.last]:
            reasons[snapshot].append("last")
        for rule, count in self.rules.items():
            period, seen = PERIODS[rule], set()
            for snapshot in newest_first:
                if count is not None and len(seen) >= count:
                    break
                key = period(snapshot.time)
                if key not in seen:
                    seen.add(key)
                    reasons[snapshot].append(rule)
        for snapshot in newest_first:
            if snapshot.name in self.protected:
                reasons[snapshot].append("protected")
        return reasons

    def verdicts(self, catalog):
        """A verdict on each snapshot, in order of time."""
        reasons = {}
        for source in catalog.sources:
            own = catalog.of(source)
            found = self.reasons(own)
            for snapshot in [one for one in own if found[one]]:
                for needed in needs(own, snapshot):
                    if not found[needed]:
                        found[needed].append("needed")
            reasons.update(found)
        return [Verdict(one, bool(reasons[one]), tuple(reasons[one])) for one in catalog]


def needs(catalog, snapshot):
    """What a snapshot needs besides itself; a broken chain needs nothing more."""
    try:
        return catalog.chain(snapshot)[:-1]
    except LookupError:
        return []


def freed(verdicts):
    """How many bytes are freed when all that goes is gone."""
    return sum(verdict.snapshot.size for verdict in verdicts if not verdict.stays)


def kept(verdicts):
    """The catalog of what stays."""
    return Catalog(verdict.snapshot for verdict in verdicts if verdict.stays)
