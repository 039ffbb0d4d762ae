"""Snapshots and their names: "home-2024-05-01T0730-full.tar.gz"."""

import dataclasses
import datetime
import pathlib
import re

NAME = re.compile(
    r"(?P<source>[a-z][a-z0-9]*(?:[-_][a-z][a-z0-9]*)*)"
    r"-(?P<day>\d{4}-\d{2}-\d{2})"
    r"(?:T(?P<hour>\d{2})(?P<minute>\d{2})Z?)?"
    r"(?:-(?P<mode>full|diff|incr))?"
    r"(?P<ending>\.(?:tar(?:\.(?:gz|xz|zst))?|zip))"
)
MODES = ("full", "diff", "incr")


class BadName(ValueError):
    """A file's name is not that of a snapshot."""


@dataclasses.dataclass(frozen=True, order=True)
class Snapshot:
    """A backup of a source at a time; snapshots are ordered by time, then by source."""

    time: datetime.datetime
    source: str
    mode: str = dataclasses.field(default="full", compare=False)
    size: int = dataclasses.field(default=0, compare=False)
    name: str = dataclasses.field(default="", compare=False, repr=False)

    @classmethod
    def from_name(cls, name, size=0):
        """The snapshot of a file's name; raises BadName."""
        found = NAME.fullmatch(name)
        if not found:
            raise BadName(name)
        try:
            day = datetime.date.fromisoformat(found["day"])
            moment = datetime.time(int(found["hour"] or 0), int(found["minute"] or 0))
        except ValueError as error:
            raise BadName(f"{name}: {error}") from None
        time = datetime.datetime.combine(day, moment)
        return cls(time, found["source"], found["mode"] or "full", size, name)

    @property
    def day(self):
        """The date of the snapshot."""
        return self.time.date()


class Catalog:
    """Snapshots of a folder, in order of time."""

    def __init__(self, snapshots=()):
        self.snapshots = sorted(snapshots)

    @classmethod
    def scan(cls, folder):
        """The catalog of a folder; files with other names are left out, and folders."""
        found = []
        for path in pathlib.Path(folder).iterdir():
            if not path.is_file():
                continue
            try:
                found.append(Snapshot.from_name(path.name, path.stat().st_size))
            except BadName:
                continue
        return cls(found)

    def __len__(self):
        return len(self.snapshots)

    def __iter__(self):
        return iter(self.snapshots)

    @property
    def sources(self):
        """The sources of all snapshots, in order of name."""
        return sorted({snapshot.source for snapshot in self})

    def of(self, source):
        """The catalog of one source."""
        return Catalog(snapshot for snapshot in self if snapshot.source == source)

    def latest(self, source, mode=None):
        """The newest snapshot of a source, or None; of one mode where it is given."""
        found = [one for one in self.of(source) if mode in (None, one.mode)]
        return found[-1] if found else None

    def chain(self, snapshot):
        """What is needed to restore a snapshot, the full one first.

        A diff builds on the full one before it, an incr on whatever stands before it. Raises
        LookupError where the full one is missing.
        """
        earlier = [one for one in self.of(snapshot.source) if one < snapshot]
        chain, wanted = [snapshot], snapshot.mode
        while wanted != "full":
            if not earlier:
                raise LookupError(f"no full snapshot before {snapshot.day}")
            one = earlier.pop()
            if wanted == "diff" and one.mode != "full":
                continue
            chain.append(one)
            wanted = one.mode
        return chain[::-1]
