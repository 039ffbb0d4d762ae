"""Runs in a remote sandbox: starts the host's job and forwards its messages.

Messages to the supervisor are marshal, since it trusts the host. Messages from it are a keyword and
JSON, since the host does not trust it:

    hello JSON         the supervisor is ready; the host sends nothing before it
    message JSON       a message of the job
    outcome JSON       the job has ended
    reply INDEX JSON   the reply to an item of a batch
    lost INDEX JSON    an item of a batch without a reply
    refused JSON       the job cannot be run; a message for people

JSON is encoded as base64, since text with lone surrogates cannot be sent otherwise.
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

from sandbox.remote.line import Assembler, decode_message, lines
from sandbox.sandbox import Process
from sandbox.subprocess_backend import SubprocessSandbox
from sandbox.types import Job, Json, Limits, LostItem, Outcome, SandboxError

_READ_BYTES = 1 << 16


def main(folder: str) -> None:
    """Runs one job or batch for the host, until its input ends; `folder` has the source files."""
    asyncio.run(_serve(folder))


async def _serve(folder: str) -> None:
    incoming = _messages()
    try:
        sandbox = SubprocessSandbox()
        shutil.rmtree(folder)  # all files are loaded or compiled
        _send("hello", _json({"python": platform.python_version()}))
        order = await anext(incoming)
        match order:
            case ("job", job):
                await _run(sandbox, _job(job), incoming)
            case ("batch", job):
                await _batch(sandbox, _job(job), incoming)
            case _:
                raise SandboxError(f"unknown order: {order[0]!r}")
    except SandboxError as error:
        _send("refused", _json(str(error)))
        # Some channels drop a program's last output, so it exits only after the host has ended.
        async for _ in incoming:
            pass
    except StopAsyncIteration:
        pass  # the host ended before it sent an order


async def _run(sandbox: SubprocessSandbox, job: Job, incoming: AsyncIterator[Any]) -> None:
    async with sandbox.start(job) as process, asyncio.TaskGroup() as group:
        tasks: list[asyncio.Task[Any]] = [group.create_task(_forward_messages(process))]
        async for message in incoming:
            match message:
                case ("send", value):
                    # A job that does not read must not block further messages.
                    tasks.append(group.create_task(process.send(value)))
                case ("kill",):
                    tasks.append(group.create_task(process.kill()))
        for talk in tasks:
            talk.cancel()


async def _forward_messages(process: Process) -> None:
    """Forwards the messages and the outcome of the job."""
    while True:
        try:
            message = await process.receive()
        except SandboxError as error:
            _send("refused", _json(str(error)))
            return
        if isinstance(message, Outcome):
            _send("outcome", _json(dataclasses.asdict(message)))
            return
        _send("message", _json(message))


async def _batch(sandbox: SubprocessSandbox, job: Job, incoming: AsyncIterator[Any]) -> None:
    """Handles lists of items, one after the other."""
    async with sandbox.batch(job) as batch:
        async for message in incoming:
            match message:
                case ("items", items, float(item_wall_s)):
                    async for index, reply in batch.replies(items, item_wall_s):
                        if isinstance(reply, LostItem):
                            _send("lost", str(index), _json(dataclasses.asdict(reply)))
                        else:
                            _send("reply", str(index), _json(reply))


def _job(document: Mapping[str, Any]) -> Job:
    job = Job(**{**document, "limits": Limits(**document["limits"])})
    if job.python:
        raise SandboxError(
            f"a remote sandbox does not have the interpreter {job.python}: use the backend `jail`"
        )
    # The host's folders do not exist here: use the packages installed here.
    packages = filter(os.path.isdir, site.getsitepackages()) if job.package_folders else ()
    return dataclasses.replace(job, package_folders=tuple(packages))


async def _messages() -> AsyncIterator[Any]:
    """The messages of the host until its end."""
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
    )
    assembler = Assembler(sys.maxsize)
    while part := await reader.read(_READ_BYTES):
        for message in assembler.feed(part):
            yield decode_message(message)


def _json(value: Json) -> bytes:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "surrogatepass")


def _send(word: str, *rest: str | bytes) -> None:
    # Only the supervisor uses its standard output: jobs have their own pipes.
    words = [base64.b64encode(part).decode() if isinstance(part, bytes) else part for part in rest]
    for line in lines(" ".join([word, *words])):
        sys.stdout.write(line)
    sys.stdout.flush()
