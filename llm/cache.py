"""Answers that are given again to the same question, kept in one SQLite file.

Only whole answers are kept (`stop`), without a key in them. Which questions are answered by them:

- Those that ask for the same answer each time, with temperature 0 or a seed. All others, and so
  whatever leaves that to the provider, only if `everything` is kept: a model that samples would
  have answered anew, and to take its first answer again is a choice. Claude always samples, also
  where it is asked with temperature 0: so who opens this cache around it keeps everything or
  leaves it out.
- First questions only. One that objects to an answer (`Request.objects_to`) goes to the model, and
  the answer that was refused is forgotten: so no malformed answer is served twice.

The same question is what `llm.questions` says, of the same version of this package: a change in
how a question is sent may change its answer.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import asdict, replace
from functools import cache
from hashlib import sha256
from pathlib import Path

from llm.errors import LlmError
from llm.provider import Provider
from llm.questions import fingerprint, question
from llm.redaction import Redactor
from llm.types import Reply, Request, Stream, Usage
from llm.wrapped import Wrapped

MOST_BYTES = 64 * 1024 * 1024
MOST_S = 30 * 24 * 3600.0

_SCHEMA = """
create table if not exists answers(
    question text primary key, body text not null, size integer not null, kept real not null,
    used real not null);
create index if not exists answers_used on answers(used);
"""
_OVER = """
delete from answers where question in (
    select question from (
        select question, sum(size) over (order by used desc, question) as together from answers)
    where together > ?)
"""


class BadCache(LlmError):
    """The file of kept answers cannot be used; the message says which and what to do."""


class AnswerCache:
    """Kept answers by their question's hash, bounded in bytes and age: what was used last stays
    longest. For any number of threads and processes. Raises `BadCache`."""

    def __init__(
        self, path: Path, *, most_bytes: int = MOST_BYTES, most_s: float = MOST_S,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._path = path
        self._most_bytes = most_bytes
        self._most_s = most_s
        self._clock = clock
        self._lock = threading.Lock()
        try:
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
            os.chmod(path, 0o600)  # SQLite gives the files beside it the same mode
            self._db = sqlite3.connect(
                path, timeout=10, isolation_level=None, check_same_thread=False
            )
            self._db.execute("pragma journal_mode=wal")
            self._db.execute("pragma synchronous=normal")
            self._db.executescript(_SCHEMA)
        except (OSError, sqlite3.Error) as error:
            raise self._bad(error) from error

    def get(self, question: str) -> Reply | None:
        """The kept reply, as it was when it came."""
        now = self._clock()
        rows = self._run(
            "update answers set used = ? where question = ? and kept > ? returning body",
            (now, question, now - self._most_s),
        )
        if not rows:
            return None
        content = json.loads(str(rows[0][0]))
        return Reply(**{**content, "usage": Usage(**content["usage"])})

    def put(self, question: str, reply: Reply) -> None:
        """Keeps a reply, and lets go of what is old or over the bound."""
        now = self._clock()
        body = json.dumps(asdict(reply))
        if len(body) > self._most_bytes:
            return
        self._run("delete from answers where kept <= ?", (now - self._most_s,))
        self._run(
            "insert or replace into answers(question, body, size, kept, used) values(?,?,?,?,?)",
            (question, body, len(body), now, now),
        )
        self._run(_OVER, (self._most_bytes,))

    def forget(self, question: str) -> bool:
        """Lets go of the answer to a question; returns whether there was one."""
        return bool(self._run("delete from answers where question = ? returning 1", (question,)))

    def size(self) -> tuple[int, int]:
        """How many answers are kept, and their bytes."""
        ((number, together),) = self._run(
            "select count(*), coalesce(sum(size), 0) from answers", ()
        )
        return int(str(number)), int(str(together))

    def clear(self) -> int:
        """Forgets everything; returns how many answers there were."""
        number = len(self._run("delete from answers returning 1", ()))
        self._run("vacuum", ())
        return number

    def close(self) -> None:
        with self._lock:
            self._db.close()

    def _run(self, order: str, values: tuple[object, ...]) -> list[tuple[object, ...]]:
        try:
            with self._lock:
                return self._db.execute(order, values).fetchall()
        except sqlite3.Error as error:
            raise self._bad(error) from error

    def _bad(self, error: Exception) -> BadCache:
        return BadCache(
            f"the kept answers in {self._path} cannot be used ({error}); delete that file, or "
            "switch the keeping of answers off"
        )


class Cached(Wrapped):
    """A provider whose answers are kept and given again for nothing."""

    def __init__(
        self, provider: Provider, answers: AnswerCache, *, everything: bool = False,
        redactor: Redactor | None = None,
    ) -> None:
        """`everything` keeps answers also where the same question would get another one."""
        super().__init__(provider)
        self._answers = answers
        self._everything = everything
        self._redactor = redactor or Redactor()

    async def stream(self, request: Request) -> Stream:
        refused = request.objects_to
        if refused is not None:
            self._answers.forget(self._question(refused))
        keeps = refused is None and self._keeps(request)
        known = self._answers.get(self._question(request)) if keeps else None
        if known is not None:
            yield known.text
            yield replace(
                known, cached=True, cost_usd=0.0, usage=Usage(), wall_s=0.0, first_s=0.0,
                attempts=0,
            )
            return
        reply: Reply | None = None
        async with aclosing(self.provider.stream(request)) as items:
            async for item in items:
                if isinstance(item, Reply):
                    reply = item
                    break
                yield item
        if reply is None:
            raise AssertionError(f"{self.name} ended a stream without its reply")
        if keeps and self._is_whole(reply):
            self._answers.put(self._question(request), reply)
        yield reply

    def _keeps(self, request: Request) -> bool:
        """Whether a request may be answered by what is kept: one that has one answer."""
        repeatable = request.temperature == 0 or request.seed is not None
        return repeatable or self._everything

    def _is_whole(self, reply: Reply) -> bool:
        return (
            reply.finish == "stop" and reply.text.strip() != "" and not reply.cached
            and self._redactor.text(reply.text) == reply.text
        )

    def _question(self, request: Request) -> str:
        asked_for = question(self.name, self.model, request)
        return sha256(f"{code_version()}\n{fingerprint(asked_for)}".encode()).hexdigest()


@cache
def code_version() -> str:
    """A hash of this package's source and of its table of providers."""
    whole = sha256()
    folder = Path(__file__).parent
    for path in sorted((*folder.rglob("*.py"), *folder.glob("*.toml"))):
        whole.update(path.relative_to(folder).as_posix().encode("utf-8"))
        whole.update(path.read_bytes())
    return whole.hexdigest()
