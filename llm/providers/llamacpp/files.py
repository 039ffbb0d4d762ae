"""Finds the file of a model, which is a path or a file on the Hub that is downloaded if needed."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO
from urllib.parse import urlsplit

from llm.errors import LlmError, NoProvider, ProviderDown, UnknownModel, WrongKey
from llm.keys import Secret

if TYPE_CHECKING:
    from huggingface_hub import HfFileMetadata

Progress = Callable[[int, int], None]
"""Called with the downloaded bytes and the total, from any thread."""
ON_THE_HUB = re.compile(r"([\w.-]+/[\w.-]+):([\w./ -]+\.gguf)")
MAGIC = b"GGUF"
SPARE_BYTES = 2**28
"""The disk space that a download must leave free."""


def fetch_file(model: str, key: Secret, progress: Progress) -> Path:
    """The file of a model, downloaded if needed. Blocks; raises an `LlmError`.

    `model` is a path, or `owner/name:file.gguf` on the Hub; `key` is the Hub's key, if any. An
    interrupted download is resumed, and a complete one is checked against the Hub's SHA-256.
    """
    named = ON_THE_HUB.fullmatch(model)
    path = _from_hub(named[1], named[2], key, progress) if named else Path(model).expanduser()
    try:
        with path.open("rb") as file:
            magic = file.read(len(MAGIC))
    except OSError as error:
        hint = "" if named else ", or to owner/name:file.gguf on the Hub"
        raise UnknownModel(
            f"{model} cannot be read ({error.strerror}): set GGUF_MODEL to a GGUF file{hint}"
        ) from None
    if magic != MAGIC:
        raise UnknownModel(f"{model} is not a GGUF file: set GGUF_MODEL to one")
    return path


def _from_hub(repo: str, file: str, key: Secret, progress: Progress) -> Path:
    import huggingface_hub as hub
    from huggingface_hub.constants import HF_HUB_CACHE
    from huggingface_hub.errors import LocalEntryNotFoundError
    from huggingface_hub.utils import build_hf_headers  # type: ignore[attr-defined]

    name, cache = f"{repo}:{file}", Path(HF_HUB_CACHE)
    cached = hub.try_to_load_from_cache(repo, file)
    path = Path(cached) if isinstance(cached, str) else cache / "gguf" / repo / file
    if path.is_file():
        return path
    token = key.reveal() or False  # `None` would send whatever this machine is logged in with
    try:
        url = hub.hf_hub_url(repo, file)
        asked = hub.get_hf_file_metadata(url, token=token)
        _require_disk_space(asked.size or 0, cache, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.with_name(f"{path.name}.part").open("ab") as part:
            fcntl.flock(part, fcntl.LOCK_EX)  # another process may download it
            if not path.is_file():
                # A token must not follow a redirect to another host.
                same_host = urlsplit(asked.location).netloc == urlsplit(url).netloc
                headers = build_hf_headers(token=token if same_host else False)
                _complete(part, asked, headers, progress, name)
                Path(part.name).replace(path)
    except LlmError:
        raise
    except Exception as error:
        raise _explained(error, repo, file, LocalEntryNotFoundError) from error
    return path


def _complete(
    part: BinaryIO, asked: HfFileMetadata, headers: dict[str, str], progress: Progress, name: str
) -> None:
    """Downloads the rest of a file and checks the whole. The Hub's own function restarts an
    interrupted download, which is too slow for 2 GB."""
    from huggingface_hub.file_download import http_get

    size, here = asked.size or 0, part.tell()
    if not size or here < size:
        http_get(
            asked.location, part, resume_size=here, headers=headers, expected_size=asked.size,
            tqdm_class=_bar(progress),
        )
        part.flush()
    # The etag of a large file is its SHA-256.
    if re.fullmatch(r"[0-9a-f]{64}", asked.etag or "") and _sha256(Path(part.name)) != asked.etag:
        part.truncate(0)
        raise ProviderDown(f"{name} does not have the Hub's checksum and was deleted: try again")


def _explained(error: Exception, repo: str, file: str, absent: type[Exception]) -> LlmError:
    """The `LlmError` for an exception of the Hub's client."""
    from huggingface_hub.errors import EntryNotFoundError, GatedRepoError, RepositoryNotFoundError

    name = f"{repo}:{file}"
    if isinstance(error, GatedRepoError):
        return WrongKey(
            f"{repo} is gated: accept its licence on its page, and set HF_TOKEN to a token of that "
            "account"
        )
    if isinstance(error, RepositoryNotFoundError):
        return UnknownModel(f"there is no model {repo} on the Hub: check GGUF_MODEL")
    if isinstance(error, EntryNotFoundError) and not isinstance(error, absent):
        return UnknownModel(f"there is no file {file} in {repo}: check GGUF_MODEL")
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return NoProvider(f"the disk is full during the download of {name}: free some space, or "
                          "set HF_HOME to another disk; the download will resume")
    return ProviderDown(
        f"{name} cannot be downloaded ({type(error).__name__}): check the network, or set "
        "GGUF_MODEL to a file; trying again resumes the download"
    )


def _require_disk_space(needed: int, folder: Path, name: str) -> None:
    """Raises `NoProvider` if the disk has too little space for a download."""
    there = next(one for one in (folder, *folder.parents) if one.exists())
    free = shutil.disk_usage(there).free
    if needed + SPARE_BYTES > free:
        raise NoProvider(
            f"{name} needs {needed / 2**20:,.0f} MiB, and {free / 2**20:,.0f} MiB of the disk at "
            f"{there} are free: free some space, set HF_HOME to another disk, or choose a smaller "
            "GGUF_MODEL"
        )


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _bar(progress: Progress) -> Any:  # used by the Hub's client like tqdm
    """A progress bar class that only calls `progress`."""

    class Bar:
        def __init__(self, *, total: int | None = None, initial: int = 0, **_: object) -> None:
            self.total, self.n = total or 0, initial
            self.update(0)

        def update(self, more: float | None = 1) -> None:
            self.n += int(more or 0)
            progress(self.n, self.total)

        def close(self) -> None:
            """Does nothing."""

        def __enter__(self) -> Bar:
            return self

        def __exit__(self, *_: object) -> None:
            self.close()

    return Bar
