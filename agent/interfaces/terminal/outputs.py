"""The files that a command writes at the end; one that is refused keeps no other from being
written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from agent.core.events import Stamped, to_jsonl
from agent.core.settings import data_folder
from agent.interfaces.exits import HEALED, against
from agent.interfaces.preparation import Prepared
from agent.interfaces.request import HealRequest
from agent.interfaces.writeback import Change, NotWritten, write_all_back, write_all_new, write_new
from agent.report.result import Result
from agent.target.errors import BadInput

if TYPE_CHECKING:
    from agent.interfaces.project.branch import Committed, Edited
    from agent.interfaces.project.discovery import Seen

BACKUPS = "backups"


@dataclass
class Written:
    """What was done and what was refused, in sentences."""

    kept: list[str] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    commits: list[Committed] = field(default_factory=list)


def write(
    result: Result, code: int, request: HealRequest, log: Sequence[Stamped], prepared: Prepared
) -> Written:
    """Writes what the request names; a repair only where the exit `code` says that it heals."""
    done = Written()
    seen = prepared.seen
    writers = [_new(request.log if log else None, lambda: to_jsonl(log).encode(), request,
                    "The run's log")]
    if request.writes and (code != HEALED or (seen is not None and not result.diff)):
        if result.outcome != "cancelled":  # of which it is said already, with the best program
            done.kept.append("Nothing was written.")
    elif request.writes:
        writers += [
            _out(result, request, prepared), _applied(result, request, prepared),
            _committed(result, request, prepared, done),
        ]
    if seen is not None:
        from agent.interfaces.project.reports import junit, markdown

        measured = against(result, request.least)
        writers += [
            _new(request.report, lambda: markdown(
                measured, seen.project.name, seen, request.out
            ).encode("utf-8", "surrogateescape"), request, "The report"),
            _new(request.junit, lambda: junit(result), request, "The suite"),
        ]
    for writer in writers:
        try:
            done.kept += writer
        except (NotWritten, BadInput) as error:
            done.refusals.append(str(error))
    return done


def _new(
    path: Path | None, content: Callable[[], bytes], request: HealRequest, what: str
) -> Iterator[str]:
    if path is not None:
        write_new(path, content(), overwrite=request.force)
        yield f"{what} is in {path}."


def _out(result: Result, request: HealRequest, prepared: Prepared) -> Iterator[str]:
    """The healed program, or the patch of a project."""
    if request.out is None:
        return
    texts = {path: text.encode("utf-8", "surrogateescape") for path, text in result.files}
    if prepared.seen is None and len(texts) > 1:
        write_all_new(request.out, texts, overwrite=request.force)
        yield f"Wrote {', '.join(texts)} in {request.out}."
        return
    if prepared.seen is not None:
        content = result.diff.encode("utf-8", "surrogateescape")
        usage = f"; in {prepared.seen.project.root} `git apply` takes it"
    else:
        source = prepared.submitted.source if prepared.submitted is not None else None
        content = source.encode(result.code) if source is not None else result.code.encode()
        usage = ""
    write_new(request.out, content, overwrite=request.force)
    yield f"Wrote {request.out}{usage}."


def _applied(result: Result, request: HealRequest, prepared: Prepared) -> Iterator[str]:
    if not request.apply:
        return
    if not result.diff:
        yield f"{request.path} is left as it is."
        return
    for place, backup in write_all_back(_changes(result, prepared)).items():
        yield f"Wrote {place}; what it was is kept in {backup}."


def _changes(result: Result, prepared: Prepared) -> list[Change]:
    """What the repair changes on disk; backups of a project's files are kept outside of its
    tree."""
    seen = prepared.seen
    if seen is not None:
        root = seen.tree.layout.root
        folder = data_folder(seen.settings)[0] / BACKUPS / result.run_id
        return [
            Change(root / one.path, one.seen, one.healed, (folder / one.path).parent, root)
            for one in edited(result, seen)
        ]
    source = prepared.submitted.source if prepared.submitted is not None else None
    if source is None or source.path is None:
        return []
    target = source.path.resolve()  # a link stays one
    healed = source.encode(result.code)
    return [Change(target, source.raw, healed, target.parent, target.parent)]


def edited(result: Result, seen: Seen) -> list[Edited]:
    """Each file of a project that the repair changes."""
    from agent.interfaces.project.branch import Edited

    return [
        Edited(path, seen.tree.files[path].encode("utf-8", "surrogateescape"),
               text.encode("utf-8", "surrogateescape"))
        for path, text in result.files if text != seen.tree.files[path]
    ]


def _committed(
    result: Result, request: HealRequest, prepared: Prepared, done: Written
) -> Iterator[str]:
    seen = prepared.seen
    if not request.commit or seen is None:
        return
    from agent.interfaces.project.branch import commit_edits
    from agent.interfaces.project.display import commit_message

    failed = {node: seen.run.rows[node] for node in seen.wanted}
    message = commit_message(result, failed, seen.project.command_words)
    done.commits.append(commit_edits(seen.tree.layout.root, edited(result, seen), message))
    yield done.commits[-1].words
