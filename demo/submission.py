"""Turns a visitor's input into a task: pasted code, one module with its tests, or a small project
that is judged by its own suite."""

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
from agent.interfaces.preparation import Preparation
from agent.interfaces.project.discovery import inspect_project
from agent.interfaces.project.upload import Upload, UploadedFile, read_upload
from agent.interfaces.request import HealRequest
from agent.log.history import LONGEST_TITLE
from agent.target.errors import BadInput, NotFixable
from agent.target.interpreter import site_folders
from agent.target.parsing import statements_of
from agent.target.source import from_bytes
from agent.target.task import PreparedTask, Submission, TestText, from_page, task_of
from demo.browser_state import TYPED, Visit
from demo.models.panel import Panel
from demo.options import chosen
from demo.serving.host import SessionHost, Unavailable

TEST_S = 10.0
"""Seconds for one test of an uploaded project."""
INSPECTION_S = 90.0
"""Seconds for the first run of its suite, before the repair."""
_NOTE = "note: "


async def start_run(
    host: SessionHost, panel: Panel, visit: Visit, run: str, typed: tuple[str, str, str],
    given: Mapping[str, object], *, address: str, pauses: bool,
    stopped: Callable[[], bool] = lambda: False,
) -> Preparation:
    """Starts a run of a visitor's input, with the options that are `given`. No run is started if
    all tests of an uploaded project pass.

    Raises:
        Unavailable, LimitExceeded, BadInput, NotFixable, LlmError: With a message for the visitor.
    """
    running = await host.running()
    session = running.session
    if running.refusal:  # inspecting an uploaded project runs code too
        raise Unavailable(running.refusal)
    request = chosen(given, session.settings, public=host.access.public)
    own, size = panel.visitor(visit), (*typed, request.stdin, *request.args)
    with host.counted_work(session, own, address, size, run):
        async with host.reading_in_turn(own, address):
            submitted = await prepare_input(*typed, request, session.settings)
        if stopped():
            raise BadInput("The run was stopped before it started.")
        if submitted.task is not None:
            await session.start(
                submitted.task, title=submitted.title, run_id=run, plan=await panel.plan(visit),
                visitor=own, **request.run_arguments(pauses=pauses, asks=True),
            )
    return submitted


async def prepare_input(
    code: str, tests: str, words: str, request: HealRequest, settings: Settings
) -> Preparation:
    """Raises `BadInput` or `NotFixable`, with a message for the visitor."""
    if not request.files:
        found = await asyncio.to_thread(
            from_page, code, tests, words, (), False, request.stdin, request.args
        )
        return _as_prepared(found)
    sent = await asyncio.to_thread(read_upload, request.files)
    if code.strip():
        raise BadInput("You pasted code and also chose files. Clear one of them.")
    if sent.program is not None:
        return await asyncio.to_thread(_module, sent, sent.program, tests, words, request)
    given = {"tests": tests, "a task in words": words, "standard input": request.stdin,
             "arguments": " ".join(request.args)}
    if extra := [name for name, text in given.items() if text.strip()]:
        raise BadInput(
            f"Several modules are judged only by their own tests. Clear {' and '.join(extra)}."
        )
    return await _project(sent, settings)


def task_as_fields(task: Task) -> dict[str, str]:
    """Returns a task as values of the page's fields; empty values for an uploaded project."""
    if task.project is not None:
        return dict.fromkeys(TYPED, "")
    code = task.solution.text if task.solution is not None else ""
    texts: dict[str, None] = {}
    own = [test for test in task.tests if test.origin == "user"]
    for test in sorted(own, key=lambda one: not (isinstance(one, Script) and one.node)):
        # Reading the input added this import.
        text = re.sub(r"^from solution import \*(; )?", "", test.code, flags=re.MULTILINE)
        texts[text.rstrip("\n")] = None
    return dict(zip(TYPED, (code, "\n".join(texts), task.text), strict=True))


def _module(
    sent: Upload, module: UploadedFile, tests: str, words: str, request: HealRequest
) -> Preparation:
    texts = [TestText(tests)] if tests.strip() else []
    if sent.tests is not None:
        source = from_bytes(sent.tests.content, Path(sent.tests.name))
        texts.append(TestText(source.text, sent.tests.name, sent.tests.name))
    found = task_of(Submission(
        from_bytes(module.content, Path(module.name)).text, module.name, words, tuple(texts),
        stdin=request.stdin, argv=tuple(request.args), package_folders=site_folders(),
        notices=sent.notices,
    ))
    return _as_prepared(found)


def _as_prepared(found: PreparedTask) -> Preparation:
    return Preparation(_title(found.task)[:LONGEST_TITLE], found, notices=found.notices)


async def _project(sent: Upload, settings: Settings) -> Preparation:
    """Writes the files of a project into a temporary folder, and inspects them there."""
    notes = [*sent.notices]
    with tempfile.TemporaryDirectory(prefix="heal-sent-") as folder:
        top = Path(folder) / "project"
        top.mkdir()
        await asyncio.to_thread(sent.write_to, top)
        try:
            async with asyncio.timeout(INSPECTION_S):
                inspected = await inspect_project(
                    HealRequest(str(top), is_untrusted_upload=True, test_timeout=TEST_S), settings,
                    lambda text, _: notes.append(_without_folder(text, top).removeprefix(_NOTE)),
                )
            found = Preparation(inspected=inspected, notices=tuple(notes))
            task = found.task  # may raise an error that names the folder
            return replace(found, title=_title(task)[:LONGEST_TITLE]) if task else found
        except BadInput as error:
            raise BadInput(_without_folder(str(error), top)) from None
        except NotFixable as error:
            raise NotFixable(error.category, _without_folder(str(error), top)) from None
        except TimeoutError:
            raise BadInput(
                f"Its suite takes more than {INSPECTION_S:g} seconds, which is too long for this "
                "page. Send only the tests that fail, or run `heal run .` on your machine."
            ) from None


def _without_folder(words: str, folder: Path) -> str:
    return words.replace(f"{folder}/", "").replace(str(folder), "the uploaded files")


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
