"""Shares lessons through a dataset on the Hugging Face Hub, without code and values; fixes only on
request. Pulled rows are untrusted. A missing dataset is created as private."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from agent.core.domain import Lesson
from agent.memory.exchange import (
    BadExchange,
    FixLine,
    Imported,
    LessonLine,
    as_text,
    fix_line,
    import_parsed_lines,
    is_public,
    lesson_line,
    parse_export,
)
from agent.memory.fixes import OWN, Memory
from llm.provider import install_words

if TYPE_CHECKING:
    from huggingface_hub import HfApi

LESSONS, FIXES = "lessons.jsonl", "fixes.jsonl"
_KINDS: Mapping[str, type[FixLine | LessonLine]] = {LESSONS: LessonLine, FIXES: FixLine}
LARGEST_SHARED = 5_000_000  # bytes
ATTEMPTS = 3

_CODE = re.compile(r"`[^`]*`|\"[^\"]*\"|(?<!\w)'[^']*'|[\w.…]+\([^()]*\)|\b\w*_\w+\b|\b\d[\w.]*")
CONFLICT = 412  # HTTP status: another commit was pushed first


class HubFault(Exception):
    """The Hub cannot be used; the message says why."""


@dataclass(frozen=True)
class Dataset:
    """The address of a dataset and the access token."""

    repo: str
    token: str
    endpoint: str = ""


@dataclass(frozen=True)
class Synced:
    """The rows that a sync pulled, and the numbers of lessons and fixes that it pushed."""

    pulled: Imported
    lessons: int
    fixes: int


def without_code(text: str) -> str:
    """Replaces code, quoted values and numbers in a lesson by `…`."""
    shorter = _CODE.sub("…", text)
    while shorter != text:  # calls may be nested
        text, shorter = shorter, _CODE.sub("…", shorter)
    return text


def sync(memory: Memory, place: Dataset, *, with_fixes: bool = False) -> Synced:
    """Pulls the dataset's rows, and pushes the memory's own. Raises `HubFault`, `MemoryFault`."""
    names = (LESSONS, FIXES) if with_fixes else (LESSONS,)
    api = _api(place)
    with _hub_faults(place):
        pulled = Imported()
        for _ in range(ATTEMPTS):
            head = _head(api, place)
            shared = {name: _read(api, place, head, name) for name in names}
            fresh = {}
            for name, text in shared.items():
                own = {_key(line): line for line in _own(memory, name)}
                lines = list(parse_export(text)) if text else []
                known = {_key(line) for _, line in lines if not isinstance(line, str)}
                fresh[name] = [line for key, line in own.items() if key not in known]
                pulled = _sum(pulled, import_parsed_lines(memory, [
                    (number, line) for number, line in lines
                    if isinstance(line, _KINDS[name]) and _key(line) not in own
                ], place.repo))
            if not any(fresh.values()) or _push(api, place, head, shared, fresh):
                return Synced(pulled, len(fresh[LESSONS]), len(fresh.get(FIXES, ())))
    raise HubFault(f"other clients keep writing to {place.repo}; try again in a moment")


def _api(place: Dataset) -> HfApi:
    try:
        from huggingface_hub import HfApi
    except ImportError as error:
        raise HubFault(
            f"the package huggingface_hub is not installed: {install_words('hub')}"
        ) from error
    return HfApi(endpoint=place.endpoint or None, token=place.token)


def _head(api: HfApi, place: Dataset) -> str:
    """The dataset's newest commit; a missing dataset is created."""
    from huggingface_hub.errors import RepositoryNotFoundError

    try:
        found = api.repo_info(place.repo, repo_type="dataset")
    except RepositoryNotFoundError:
        api.create_repo(place.repo, repo_type="dataset", private=True, exist_ok=True)
        found = api.repo_info(place.repo, repo_type="dataset")
    if not found.sha:
        raise HubFault(f"the Hub gave no newest commit of {place.repo}; try again")
    return found.sha


def _read(api: HfApi, place: Dataset, head: str, name: str) -> str:
    from huggingface_hub.errors import EntryNotFoundError

    with tempfile.TemporaryDirectory(prefix="heal-hub-") as folder:
        try:
            planned = api.hf_hub_download(
                place.repo, name, repo_type="dataset", revision=head, local_dir=folder,
                dry_run=True,
            )
            if (planned.file_size or 0) > LARGEST_SHARED:
                raise HubFault(
                    f"{name} of {place.repo} is larger than {LARGEST_SHARED:,} bytes; choose "
                    "another HF_LESSONS_REPO"
                )
            path = api.hf_hub_download(
                place.repo, name, repo_type="dataset", revision=head, local_dir=folder
            )
        except EntryNotFoundError:
            return ""
        return Path(path).read_text(encoding="utf-8", errors="replace")


def _own(memory: Memory, name: str) -> list[FixLine | LessonLine]:
    found: Iterable[FixLine | LessonLine | None]
    if name == LESSONS:
        found = (
            lesson_line(Lesson(text=without_code(row.lesson.text), category=row.lesson.category))
            for row in memory.lessons() if row.origin == OWN
        )
    else:
        found = (fix_line(known) for known in memory.fixes() if known.origin == OWN)
    return [line for line in found if line is not None and is_public(line)]


def _key(line: LessonLine | FixLine) -> tuple[str, str]:
    match line:
        case LessonLine():
            return line.category, line.text
        case FixLine():
            return line.signature, line.after


def _push(
    api: HfApi, place: Dataset, head: str, shared: Mapping[str, str],
    fresh: Mapping[str, Sequence[LessonLine | FixLine]],
) -> bool:
    """Adds lines; returns False if another push came first."""
    from huggingface_hub import CommitOperationAdd
    from huggingface_hub.errors import HfHubHTTPError

    count = sum(len(lines) for lines in fresh.values())
    try:
        api.create_commit(
            place.repo,
            [
                CommitOperationAdd(name, _joined(shared[name], lines).encode())
                for name, lines in fresh.items() if lines
            ],
            commit_message=f"Add {count} {'line' if count == 1 else 'lines'}",
            repo_type="dataset", parent_commit=head,
        )
    except HfHubHTTPError as error:
        if error.response is not None and error.response.status_code == CONFLICT:
            return False
        raise
    return True


def _joined(shared: str, lines: Sequence[LessonLine | FixLine]) -> str:
    text = as_text(lines)
    return text if not shared else shared.rstrip("\n") + "\n" + text.split("\n", 1)[1]


def _sum(one: Imported, other: Imported) -> Imported:
    return replace(
        one, fixes=one.fixes + other.fixes, lessons=one.lessons + other.lessons,
        known=other.known, refused=other.refused,
    )


@contextmanager
def _hub_faults(place: Dataset) -> Iterator[None]:
    import httpx2
    from huggingface_hub.errors import (
        HfHubHTTPError,
        HFValidationError,
        LocalEntryNotFoundError,
        OfflineModeIsEnabled,
    )

    try:
        yield
    except BadExchange as error:
        raise HubFault(f"a file of {place.repo} is not an export: {error}") from error
    except (
        HfHubHTTPError, HFValidationError, LocalEntryNotFoundError, OfflineModeIsEnabled,
        httpx2.HTTPError,
    ) as error:
        response = getattr(error, "response", None)
        status = f" (status {response.status_code})" if response is not None else ""
        words = str(error).strip().split("\n")[0].replace(place.token, "[token]")
        # The original is not chained: its request carries the token.
        raise HubFault(f"{place.repo} at the Hub{status}: {words}") from None
