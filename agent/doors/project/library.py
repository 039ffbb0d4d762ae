"""A project healed from Python, by `heal_project`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from agent.core.loops import blocking
from agent.doors.library import HealResult, SelfHealingAgent
from agent.doors.project.look import Seen
from agent.doors.project.reports import markdown, project_document
from agent.doors.request import HealRequest
from agent.log.result import document


@dataclass(frozen=True, repr=False)
class ProjectResult(HealResult):
    """The result for a project; `diff` applies in `root`, `files` are its modules."""

    seen: Seen | None = None
    """The project before; `None` where its suite could not be run."""
    notes: tuple[str, ...] = ()

    @property
    def root(self) -> str:
        """The top of the project; empty where none was found."""
        return self.seen.project.root if self.seen is not None else ""

    @property
    def failed_before(self) -> tuple[str, ...]:
        """The tests that failed before any edit."""
        return tuple(self.seen.run.failing) if self.seen is not None else ()

    @property
    def markdown(self) -> str:
        """The heal for the readers of a pull request, or why there was none."""
        if self.seen is None:
            return f"{self.reason}\n"
        return markdown(self, self.seen.project.name, self.seen)

    @property
    def document(self) -> dict[str, object]:
        """What `run --json` prints."""
        return document(self) if self.seen is None else project_document(self, self.seen)


async def aheal_project(
    path: str | Path = ".", arguments: Sequence[str] = (), *, keyword: str = "",
    last_failed: bool = False, only: Sequence[str] = (), exclude: Sequence[str] = (),
    deselect: Sequence[str] = (), python: str | None = None, grant: bool = False,
    test_command: str = "", since: str = "", test_timeout: float = 0.0,
    agent: SelfHealingAgent | None = None,
) -> ProjectResult:
    """Heals the failing tests of the project around `path`; nothing is written into it. The
    arguments are those of `heal run`; `agent` says which models may be asked. Raises: BadInput,
    RunFault."""
    agent = agent or SelfHealingAgent()
    request = HealRequest(
        str(path), arguments, keyword=keyword, last_failed=last_failed, python=python, only=only,
        exclude=exclude, deselect=deselect, grant=grant, test_cmd=test_command, since=since,
        test_timeout=test_timeout, means_project=True,
    )
    notes: list[str] = []
    prepared, result = await agent.healed(request, lambda text, style: notes.append(text))
    return ProjectResult(
        **vars(result), max_iterations=agent.settings().max_iterations, seen=prepared.seen,
        notes=tuple(notes),
    )


heal_project = blocking(aheal_project)
