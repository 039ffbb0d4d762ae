"""Writes the output files of a command. If one cannot be written, the others still are."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from agent.core.events import LogEntry, to_jsonl
from agent.core.settings import data_folder
from agent.interfaces.exits import HEALED, with_missed_requirement
from agent.interfaces.preparation import Preparation
from agent.interfaces.request import HealRequest
from agent.interfaces.writeback import Change, NotWritten, write_all_back, write_all_new, write_new
from agent.report.result import Result
from agent.target.errors import BadInput

if TYPE_CHECKING:
    from agent.interfaces.project.branch import Committed, Edited
    from agent.interfaces.project.discovery import Inspection

BACKUPS = "backups"


@dataclass
class WriteOutcome:
    """Messages about files that were written, and about files that could not be."""

    messages: list[str] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    commits: list[Committed] = field(default_factory=list)


def write(
    result: Result, code: int, request: HealRequest, log: Sequence[LogEntry], prepared: Preparation
) -> WriteOutcome:
    """Writes the files that the request names. A repair is written only if `code` is `HEALED`."""
    done = WriteOutcome()
    inspected = prepared.inspected
    writers = [_create(request.log if log else None, lambda: to_jsonl(log).encode(), request,
                    "The run log")]
    if request.writes and (code != HEALED or (inspected is not None and not result.diff)):
        if result.outcome != "cancelled":  # its result already says so
            done.messages.append("Nothing was written.")
    elif request.writes:
        writers += [
            _write_out_file(result, request, prepared), _apply_repair(result, request, prepared),
            _commit_repair(result, request, prepared, done),
        ]
    with_missed = with_missed_requirement(result, request.required)
    if request.sarif is not None:
        from agent.interfaces.sarif import sarif

        writers.append(_create(
            request.sarif, lambda: json.dumps(sarif(with_missed, prepared), indent=1).encode(),
            request, "The SARIF file",
        ))
    if inspected is not None:
        from agent.interfaces.project.reports import junit, markdown

        writers += [
            _create(request.report, lambda: markdown(
                with_missed, inspected.project.name, inspected
            ).encode("utf-8", "surrogateescape"), request, "The report"),
            _create(request.junit, lambda: junit(result), request, "The JUnit report"),
        ]
    for writer in writers:
        try:
            done.messages += writer
        except (NotWritten, BadInput) as error:
            done.refusals.append(str(error))
    return done


def _create(
    path: Path | None, content: Callable[[], bytes], request: HealRequest, what: str
) -> Iterator[str]:
    if path is not None:
        write_new(path, content(), overwrite=request.force)
        yield f"{what} is in {path}."


def _write_out_file(result: Result, request: HealRequest, prepared: Preparation) -> Iterator[str]:
    if request.out is None:
        return
    texts = {path: text.encode("utf-8", "surrogateescape") for path, text in result.files}
    if prepared.inspected is None and len(texts) > 1:
        write_all_new(request.out, texts, overwrite=request.force)
        yield f"Wrote {', '.join(texts)} in {request.out}."
        return
    if prepared.inspected is not None:
        content = result.diff.encode("utf-8", "surrogateescape")
        usage = f". Apply it in {prepared.inspected.project.root} with `git apply`"
    else:
        source = prepared.submitted.source if prepared.submitted is not None else None
        content = source.encode(result.code) if source is not None else result.code.encode()
        usage = ""
    write_new(request.out, content, overwrite=request.force)
    yield f"Wrote {request.out}{usage}."


def _apply_repair(result: Result, request: HealRequest, prepared: Preparation) -> Iterator[str]:
    if not request.apply:
        return
    if not result.diff:
        yield f"{request.path} was not changed."
        return
    for path, backup in write_all_back(_changes(result, prepared)).items():
        yield f"Wrote {path}. The previous version is in {backup}."


def _changes(result: Result, prepared: Preparation) -> list[Change]:
    """Lists the files to replace. Backups of project files are saved outside of the project."""
    inspected = prepared.inspected
    if inspected is not None:
        root = inspected.tree.layout.root
        folder = data_folder(inspected.settings)[0] / BACKUPS / result.run_id
        return [
            Change(root / one.path, one.before, one.after, (folder / one.path).parent, root)
            for one in edited(result, inspected)
        ]
    source = prepared.submitted.source if prepared.submitted is not None else None
    if source is None or source.path is None:
        return []
    target = source.path.resolve()  # a symbolic link is kept
    healed = source.encode(result.code)
    return [Change(target, source.raw, healed, target.parent, target.parent)]


def edited(result: Result, inspected: Inspection) -> list[Edited]:
    from agent.interfaces.project.branch import Edited

    return [
        Edited(path, inspected.tree.files[path].encode("utf-8", "surrogateescape"),
               text.encode("utf-8", "surrogateescape"))
        for path, text in result.files if text != inspected.tree.files[path]
    ]


def _commit_repair(
    result: Result, request: HealRequest, prepared: Preparation, done: WriteOutcome
) -> Iterator[str]:
    inspected = prepared.inspected
    if not request.commit or inspected is None:
        return
    from agent.interfaces.project.branch import commit_edits
    from agent.interfaces.project.display import commit_message

    failed = {node: inspected.run.outcomes[node] for node in inspected.to_heal}
    message = commit_message(result, failed, inspected.project)
    root = inspected.tree.layout.root
    done.commits.append(commit_edits(root, edited(result, inspected), message))
    yield done.commits[-1].message
