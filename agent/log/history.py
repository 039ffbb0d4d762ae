"""Lists, finds and reads the stored runs of one visitor."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Literal

from agent.core.domain import ProofLevel, RunOutcome
from agent.core.events import LogEntry, Parent, RunFailed, RunFinished, RunStarted, Waiting
from agent.core.settings import Settings, data_folder
from agent.log.store import RunRow, Store, UnknownRun, open_store

LEAST_NAMED = 4  # characters of an id
LONGEST_TITLE = 80
RunStatus = Literal["running", "waiting", "interrupted", "failed"] | RunOutcome


@dataclass(frozen=True)
class RunSummary:
    id: str
    title: str
    created: float  # seconds since the epoch
    status: RunStatus
    parent: Parent | None
    proof: ProofLevel | None = None
    fitting_repairs: int = 1
    """How many repairs are known to fit the tests; see `Result.fitting_repairs`."""

    @property
    def document(self) -> dict[str, object]:
        return {
            "run_id": self.id, "title": self.title, "created": self.created,
            "status": self.status, "standing": self.status,
            "parent": None if self.parent is None else self.parent.model_dump(mode="json"),
        }


class History:
    """The runs of one visitor; runs of others are not visible."""

    def __init__(self, store: Store, visitor: str) -> None:
        self._store = store
        self._visitor = visitor
        self.lists = "`heal runs`"

    def runs(self, limit: int = 20) -> tuple[RunSummary, ...]:
        """The newest runs first."""
        return tuple(map(self._listed, self._store.runs(limit, self._visitor)))

    def named(self, name: str) -> str:
        """The run id that is, or alone starts with, `name`; raises `UnknownRun`."""
        if len(name) < LEAST_NAMED:
            raise UnknownRun(f"{name!r} is too short. Give at least {LEAST_NAMED} characters of "
                             f"the run's id; {self.lists} lists all runs.")
        found = self._store.runs_named(name, self._visitor)
        if not found:
            raise UnknownRun(f"There is no run {name}; {self.lists} lists all runs.")
        if len(found) > 1 and name not in found:
            raise UnknownRun(f"{len(found)} run ids start with {name}. Give more characters.")
        return name if name in found else found[0]

    def log(self, name: str) -> tuple[LogEntry, ...]:
        return self._store.log(self.named(name))

    def rename(self, name: str, title: str) -> None:
        self._store.rename(self.named(name), " ".join(title.split())[:LONGEST_TITLE])

    def _listed(self, row: RunRow) -> RunSummary:
        first, last = self._store.first_and_last(row.id)
        parent = first.event.parent if first and isinstance(first.event, RunStarted) else None
        listed = RunSummary(row.id, row.title, row.created, self._status(row, last), parent)
        if last is None or not isinstance(last.event, RunFinished):
            return listed
        return replace(listed, proof=last.event.proof, fitting_repairs=last.event.fitting_repairs)

    def _status(self, row: RunRow, last: LogEntry | None) -> RunStatus:
        match last.event if last is not None else None:
            case RunFinished(outcome=outcome):
                return outcome
            case RunFailed():
                return "failed"
            case Waiting():
                return "waiting"
            case _:
                return "running" if self._store.is_alive(row) else "interrupted"


@contextmanager
def open_history(settings: Settings, visitor: str) -> Iterator[History]:
    """Opens the runs stored in the data folder of the settings."""
    folder, _ = data_folder(settings)
    store = open_store(settings, folder)
    try:
        yield History(store, visitor)
    finally:
        store.close()
