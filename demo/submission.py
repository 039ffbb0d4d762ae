"""What a visitor brings, made into a task: what is pasted, one module with its tests, or a small
project, whose own suite judges."""

from __future__ import annotations

import ast
import asyncio
import re
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from agent.core.domain import Script, Task
from agent.core.settings import Settings
from agent.interfaces.preparation import Prepared
from agent.interfaces.project.discovery import inspect_project
from agent.interfaces.project.upload import Upload, UploadedFile, read_upload
from agent.interfaces.request import HealRequest
from agent.log.history import LONGEST_TITLE
from agent.target.errors import BadInput, NotFixable
from agent.target.interpreter import own_sites
from agent.target.parsing import statements_of
from agent.target.source import from_bytes
from agent.target.task import PreparedTask, Submission, TestText, from_page, task_of
from demo.browser_state import TYPED, Visit
from demo.models.panel import Panel
from demo.options import chosen
from demo.serving.host import SessionHost, Unavailable

TEST_S = 10.0
"""Seconds of one test of a project that was sent."""
LOOK_S = 90.0
"""Seconds in which its suite is run once, before it is healed."""
_NOTE = "note: "


async def begun(
    host: SessionHost, panel: Panel, visit: Visit, run: str, typed: tuple[str, str, str],
    given: Mapping[str, object], *, address: str, pauses: bool,
    stopped: Callable[[], bool] = lambda: False,
) -> Prepared:
    """Starts a run of what a visitor brings, with the options that are `given`. Where a green
    project is brought, nothing is started.

    Raises `Unavailable`, `TooMuch`, `BadInput`, `NotFixable` and `LlmError`, for people.
    """
    running = await host.running()
    session = running.session
    if running.refusal:  # also the suite of a project that was sent runs code
        raise Unavailable(running.refusal)
    request = chosen(given, session.settings, public=host.access.public)
    own, size = panel.visitor(visit), (*typed, request.stdin, *request.args)
    with host.working(session, own, address, size, run):
        async with host.reading(own, address):
            submitted = await prepared(*typed, request, session.settings)
        if stopped():
            raise BadInput("Stopped before it began.")
        if submitted.task is not None:
            await session.start(
                submitted.task, title=submitted.title, run_id=run, plan=await panel.plan(visit),
                visitor=own, **request.asked(pauses=pauses, asks=True),
            )
    return submitted


async def prepared(
    code: str, tests: str, words: str, request: HealRequest, settings: Settings
) -> Prepared:
    """Raises `BadInput` and `NotFixable` with a message for people."""
    if not request.files:
        found = await asyncio.to_thread(
            from_page, code, tests, words, (), False, request.stdin, request.args
        )
        return _of(found)
    sent = await asyncio.to_thread(read_upload, request.files)
    if code.strip():
        raise BadInput("Code is pasted and files are chosen: clear one of the two.")
    if sent.program is not None:
        return await asyncio.to_thread(_module, sent, sent.program, tests, words, request)
    given = {"tests": tests, "a task in words": words, "standard input": request.stdin,
             "arguments": " ".join(request.args)}
    if extra := [name for name, text in given.items() if text.strip()]:
        raise BadInput(
            f"Several modules are judged by their own tests alone: clear {' and '.join(extra)}."
        )
    return await _project(sent, settings)


def as_typed(task: Task) -> dict[str, str]:
    """A task as the page's fields take it, by their names; nothing where it was sent as files of a
    project."""
    if task.project is not None:
        return dict.fromkeys(TYPED, "")
    code = task.solution.text if task.solution is not None else ""
    texts: dict[str, None] = {}
    own = [test for test in task.tests if test.origin == "user"]
    for test in sorted(own, key=lambda one: not (isinstance(one, Script) and one.node)):
        # What its own tests see of a pasted program was put in by the intake.
        text = re.sub(r"^from solution import \*(; )?", "", test.code, flags=re.MULTILINE)
        texts[text.rstrip("\n")] = None
    return dict(zip(TYPED, (code, "\n".join(texts), task.text), strict=True))


def _module(
    sent: Upload, module: UploadedFile, tests: str, words: str, request: HealRequest
) -> Prepared:
    """One module under its own name, with a file of tests, or tests that were typed."""
    texts = [TestText(tests)] if tests.strip() else []
    if sent.tests is not None:
        source = from_bytes(sent.tests.content, Path(sent.tests.name))
        texts.append(TestText(source.text, sent.tests.name, sent.tests.name))
    found = task_of(Submission(
        from_bytes(module.content, Path(module.name)).text, module.name, words, tuple(texts),
        stdin=request.stdin, argv=tuple(request.args), sites=own_sites(),
        notices=sent.notices,
    ))
    return _of(found)


def _of(found: PreparedTask) -> Prepared:
    return Prepared(_title(found.task)[:LONGEST_TITLE], found, notices=found.notices)


async def _project(sent: Upload, settings: Settings) -> Prepared:
    """Files of a project, laid into a folder of their own for as long as they are read."""
    notes = [*sent.notices]
    with tempfile.TemporaryDirectory(prefix="heal-sent-") as folder:
        top = Path(folder) / "project"
        top.mkdir()
        await asyncio.to_thread(sent.lay, top)
        try:
            async with asyncio.timeout(LOOK_S):
                inspected = await inspect_project(
                    HealRequest(str(top), alone=True, test_timeout=TEST_S), settings,
                    lambda text, _: notes.append(_without_folder(text, top).removeprefix(_NOTE)),
                )
            found = Prepared(inspected=inspected, notices=tuple(notes))
            task = found.task  # refused here, where it names the folder
            return replace(found, title=_title(task)[:LONGEST_TITLE]) if task else found
        except BadInput as error:
            raise BadInput(_without_folder(str(error), top)) from None
        except NotFixable as error:
            raise NotFixable(error.category, _without_folder(str(error), top)) from None
        except TimeoutError:
            raise BadInput(
                f"Its suite takes more than {LOOK_S:g} seconds, which is too long for a page: heal "
                "it where it lies, by `heal run .`, or send the tests that fail alone."
            ) from None


def _without_folder(words: str, folder: Path) -> str:
    """The words without where the server has laid what was sent."""
    return words.replace(f"{folder}/", "").replace(str(folder), "what was sent")


def _title(task: Task) -> str:
    if task.project is not None:
        return f"{len(task.project.editable)} modules, {task.tests[0].name}"
    if task.solution is None:
        return " ".join(task.text.split())
    names = [
        one.name for one in statements_of(task.solution.text)
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    ]
    return ", ".join(names) or task.solution.entry
