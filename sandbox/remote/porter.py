"""Runs in a remote sandbox: starts the host's job there and carries what it says.

Messages to the porter are marshal, for it trusts the host. Messages from it are a word and what
belongs to it, in JSON, for the host trusts nothing:

    hello JSON         who is here; the host sends nothing before it
    message JSON       the job sent this
    outcome JSON       the job has ended
    reply INDEX JSON   an item of a batch is answered
    lost INDEX JSON    or not
    refused JSON       the job cannot be run so, in words

JSON is in base64: text with lone surrogates passes no other way.
"""

from __future__ import annotations

import asyncio
import base64
import dataclasses
import json
import os
import platform
import shutil
import site
import sys
from collections.abc import AsyncIterator, Mapping
from typing import Any

from sandbox.remote.line import Assembler, lines, unpacked
from sandbox.sandbox import Process
from sandbox.subprocess_backend import SubprocessSandbox
from sandbox.types import Job, Json, Limits, LostItem, Outcome, SandboxError

_READ_BYTES = 1 << 16


def main(folder: str) -> None:
    """Serves one order of the host, until the host is gone; `folder` is where we lie."""
    asyncio.run(_serve(folder))


async def _serve(folder: str) -> None:
    incoming = _messages()
    try:
        sandbox = SubprocessSandbox()
        shutil.rmtree(folder)  # all of it is loaded or compiled by now
        _tell("hello", _json({"python": platform.python_version()}))
        order = await anext(incoming)
        match order:
            case ("job", job):
                await _run(sandbox, _job(job), incoming)
            case ("batch", job):
                await _batch(sandbox, _job(job), incoming)
            case _:
                raise SandboxError(f"no order of this porter: {order[0]!r}")
    except SandboxError as error:
        _tell("refused", _json(str(error)))
        # Some channels drop the last words of a program that ends, so the host ends first.
        async for _ in incoming:
            pass
    except StopAsyncIteration:
        pass  # the host is gone before it ordered anything


async def _run(sandbox: SubprocessSandbox, job: Job, incoming: AsyncIterator[Any]) -> None:
    async with sandbox.start(job) as process, asyncio.TaskGroup() as group:
        talks: list[asyncio.Task[Any]] = [group.create_task(_carry(process))]
        async for message in incoming:
            match message:
                case ("send", value):
                    # A job that reads nothing must not keep what comes next from being heard.
                    talks.append(group.create_task(process.send(value)))
                case ("kill",):
                    talks.append(group.create_task(process.kill()))
        for talk in talks:
            talk.cancel()


async def _carry(process: Process) -> None:
    """All that the job says, and how it ended."""
    while True:
        try:
            message = await process.receive()
        except SandboxError as error:
            _tell("refused", _json(str(error)))
            return
        if isinstance(message, Outcome):
            _tell("outcome", _json(dataclasses.asdict(message)))
            return
        _tell("message", _json(message))


async def _batch(sandbox: SubprocessSandbox, job: Job, incoming: AsyncIterator[Any]) -> None:
    """Lists of items, one after the other; a list that is given up ends the program."""
    async with sandbox.batch(job) as batch:
        async for message in incoming:
            match message:
                case ("items", items, float(item_wall_s)):
                    async for index, reply in batch.replies(items, item_wall_s):
                        if isinstance(reply, LostItem):
                            _tell("lost", str(index), _json(dataclasses.asdict(reply)))
                        else:
                            _tell("reply", str(index), _json(reply))


def _job(document: Mapping[str, Any]) -> Job:
    job = Job(**{**document, "limits": Limits(**document["limits"])})
    if job.python:
        raise SandboxError(
            f"{job.python} is a Python of another machine: run this job by the backend `jail`"
        )
    # The folders of the host do not exist here. What they stand for, installed packages, does.
    packages = filter(os.path.isdir, site.getsitepackages()) if job.sites else ()
    return dataclasses.replace(job, sites=tuple(packages))


async def _messages() -> AsyncIterator[Any]:
    """What the host sends, to its end."""
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
    )
    assembler = Assembler(sys.maxsize)
    while part := await reader.read(_READ_BYTES):
        for message in assembler.feed(part):
            yield unpacked(message)


def _json(value: Json) -> bytes:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "surrogatepass")


def _tell(word: str, *rest: str | bytes) -> None:
    # Standard output of the porter is nobody else's: the jobs have pipes of their own.
    words = [
        base64.b64encode(part).decode() if isinstance(part, bytes) else part for part in rest
    ]
    for line in lines(" ".join([word, *words])):
        sys.stdout.write(line)
    sys.stdout.flush()
