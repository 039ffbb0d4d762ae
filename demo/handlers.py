"""The event handlers of the page: each returns the parts of the page that change.

A run is a task of the session. The browser knows its id before it starts, and the page only follows
it, so that reloading the page follows it again. A run that uses models pauses when its visitor has
closed the page.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import (
    AbstractContextManager,
    asynccontextmanager,
    contextmanager,
    nullcontext,
    suppress,
)
from dataclasses import replace
from typing import TYPE_CHECKING
from uuid import UUID, uuid4

import gradio as gr

from agent.core.domain import CompetingPatches
from agent.core.events import LogEntry
from agent.log.store import DatabaseUnavailable
from agent.report.result import LogFold, Result, fold
from agent.report.waiting import REVIEW_NEEDS
from agent.search.ranking.question import BadAnswer, answer_warning, answered_test, choices
from demo.browser_state import NEW_VISIT, NO_RUN, OPTIONS, BrowserRun, Typed, Update, Visit
from demo.models.choice import offered
from demo.models.panel import Panel
from demo.models.plans import banner
from demo.phases import (
    CLOSED_QUESTION,
    buttons,
    closed_page,
    paused_row,
    question_row,
    refused,
    review_card,
    started_page,
)
from demo.serving.api import refusal_words, refusals
from demo.serving.host import SavedRuns, SessionHost, Unavailable
from demo.serving.limits import LimitExceeded
from demo.serving.throttle import throttled
from demo.views.bench import NO_RUN_WORKBENCH, workbench
from demo.views.escape import sentence
from demo.views.programs import text_of
from demo.views.required import required
from demo.views.trace import writing
from llm.provider import MOCK

if TYPE_CHECKING:
    from agent.loop.session import Session

LONGEST_KEPT = 200_000
"""Characters of input that are saved in the browser, whose storage is small."""
MAX_STOPPED, MAX_STOPPED_NEAR = 1_000, 20
"""Maximum remembered runs that were stopped before they started: in total, and per address."""
LOST = (
    "This run was not found: it did not start before the page was left, its link is wrong, or its "
    "log was deleted. Press Heal to start a new run."
)
NOT_OWNER = "Only the visitor who started this run can "
UNKNOWN_PROGRAM = "The selected program was not found in this run. Select another one."
LONGEST_PLACE = 6
"""Maximum digits of a program's number in a run, plus one."""
MAX_INLINE_CHARS = 20_000
"""Maximum characters of programs rendered in the event loop; more are rendered in a thread."""


class Page:
    """The event handlers of the page; every public method handles one kind of event."""

    def __init__(self, host: SessionHost) -> None:
        self._host = host
        self.panel = Panel(host)
        self._stopped_early: OrderedDict[tuple[str, str], str] = OrderedDict()
        """The address by run and visitor, for runs stopped before they started."""
        self._preparing: dict[str, asyncio.Event] = {}
        """Runs whose input is being read; the event is set at its end."""
        self._newest: dict[str, object] = {}
        """The stream that each open page follows."""
        self._passing_uploads: deque[str] = deque(maxlen=MAX_STOPPED)
        """Runs that did not start, because all tests of the uploaded project pass."""

    async def arrive(
        self, asked: str, kept: BrowserRun | None, code: str, tests: str, words: str,
        visit: Visit | None,
    ) -> Update:
        """Handles an opened or reloaded page: shows the models and prices, and finds the run to
        follow, preferably the one in its address. Text typed meanwhile does not change."""
        kept = {**NO_RUN, **kept} if kept else NO_RUN
        visit = self.panel.known({**NEW_VISIT, **visit} if visit else NEW_VISIT)
        if visit["provider"] not in ("", MOCK, *offered(public=self._host.access.public)):
            visit = {**visit, "provider": "", "model": ""}  # no longer offered
        before = {"code": kept["code"], "tests": kept["tests"], "words": kept["words"]}
        now = {"code": code, "tests": tests, "words": words}
        typed = before if any(before.values()) and not any(now.values()) else {}
        update: Update = {"visit": visit}
        try:
            running = await self._host.running()
            shown = await self.panel.shown(visit, *(typed or now).values())
        except Unavailable as fault:
            return {
                **update, "saved-run": {**kept, "run": asked or kept["run"], "interrupt": ""},
                "plan": "", "needs-model": "", "banner": "", "said": sentence(str(fault)),
                **buttons(running=False),
            }
        run, message = asked or kept["run"], ""
        if run and await self._started(run) is None:
            message = sentence(LOST)
            run = kept["run"] if await self._log(kept["run"]) is not None else ""
        own = bool(run) and await self.panel.owns(run, visit)
        if run and not own and asked != run:  # another visitor's run, no longer in the address
            run = ""
        if own and asked == run != kept["run"]:  # opened by its link
            code, tests, words = (await self._typed(run, NO_RUN)).values()
            kept = {**kept, "code": code, "tests": tests, "words": words}
            update |= await self.predict(visit, code, tests, words)
        return {
            "saved-run": {**kept, "run": run, "interrupt": ""}, "said": message,
            **({"bench": NO_RUN_WORKBENCH} if message and not run else {}),
            "banner": banner(running.warning, running.refusal), **shown, **update,
            "provider": visit["provider"], "model": visit["model"], "roles": visit["roles"],
            **buttons(running=own, closed=bool(running.refusal)),
        }

    async def predict(self, visit: Visit, *typed: Typed) -> Update:
        """Shows the models and the predicted cost of a run for the typed input."""
        shown = await self.panel.shown(visit, *typed)
        return {name: shown[name] for name in ("plan", "spending")}

    async def heal(
        self, visit: Visit, kept: BrowserRun, code: str, tests: str, words: str, *options: object,
    ) -> AsyncIterator[Update]:
        """Starts the run and follows it; `options` are values in the order of `OPTIONS`."""
        from demo.submission import start_run  # already imported by the session

        run, visitor, submitted = kept["run"], self.panel.visitor(visit), None
        typed = (code or "", tests or "", words or "")
        self._newest.pop(visit["page"], None)  # stop following another run
        try:
            session = await self._host.session()
            async with self._starting(run, visit) as is_new:
                if is_new:
                    submitted = await start_run(
                        self._host, self.panel, visit, run, typed,
                        dict(zip(OPTIONS, options, strict=False)), address=visit["address"],
                        pauses=True, stopped=lambda: (run, visitor) in self._stopped_early,
                    )
        except refusals() as refusal:
            yield await self._refusal_update(kept, visit, refusal)
            return
        starts = submitted is not None and submitted.task is not None
        if starts and (run, visitor) in self._stopped_early:  # stopped while it was starting
            await session.cancel(run)
        with self._viewing(session, run) if starts else nullcontext():
            notices = submitted.notices if submitted else ()
            yield {"said": "".join(sentence(one, "info") for one in notices)}
            if submitted is not None and not starts:
                self._passing_uploads.append(run)
                yield {"bench": workbench(submitted.heal_result(()))}
                return
            async for shown in self.watch(kept, visit):
                yield shown

    async def choose_behaviour(
        self, kept: BrowserRun, visit: Visit = NEW_VISIT, tests: Typed = None, *, place: int
    ) -> Update:
        """Answers the shown question with the button at this place."""
        patches = (await self._result(kept["run"])).question
        offered = choices(patches) if patches is not None else ()
        if place >= len(offered):
            return closed_page(kept)
        labels, _ = offered[place]
        assert patches is not None, "choices are offered"
        return await self._answered(kept, patches, labels[0], visit, tests)

    async def write_behaviour(
        self, kept: BrowserRun, written: str, visit: Visit = NEW_VISIT, tests: Typed = None
    ) -> Update:
        """Answers the shown question with typed text; an invalid text stays for correction."""
        patches = (await self._result(kept["run"])).question
        if patches is None:
            return closed_page(kept)
        try:
            test = answered_test(patches, written)
            if test is None and not kept["interrupt"]:
                raise BadAnswer("This run has ended, so there is nothing to skip.")
        except BadAnswer as error:
            return {"saved-run": {**kept, "answer": ""}, "wrong": sentence(str(error))}
        if written != kept["doubted"] and (why := answer_warning(patches, written)):
            return {
                "saved-run": {**kept, "answer": "", "doubted": written},
                "wrong": sentence(f"{why}. Send it again to go on, or change it."),
            }
        return await self._answered(kept, patches, written, visit, tests)

    async def _answered(
        self, kept: BrowserRun, patches: CompetingPatches, answer: str, visit: Visit, tests: Typed
    ) -> Update:
        """Shows the page after an answer. The answer's test is added to the tests field if that
        still holds the tests of the run."""
        update, test = started_page(_with_answer(kept, answer)), answered_test(patches, answer)
        typed = bool(kept["code"] or kept["words"]) and tests == kept["tests"]
        if not typed or test is None or test.code in kept["tests"] or not (
            await self.panel.owns(kept["run"], visit)
        ):
            return update
        grown = f"{kept['tests'].rstrip()}\n{test.code}\n".lstrip()
        return {**update, "saved-run": {**update["saved-run"], "tests": grown}, "tests": grown}

    async def answer(self, kept: BrowserRun, visit: Visit) -> AsyncIterator[Update]:
        """Submits the chosen answer, if there is one, and follows the resulting run."""
        if not kept["answer"]:
            yield {}
            return
        from agent.target.errors import BadInput

        self._newest.pop(visit["page"], None)
        try:
            session = await self._host.session()
            if kept["asked"]:
                visitor = self.panel.visitor(visit)
                async with self._starting(kept["run"], visit) as is_new:
                    if is_new:
                        with self._host.counted_work(
                            session, visitor, visit["address"], [kept["answer"]], kept["run"]
                        ):
                            await session.rerun_with_answer(
                                kept["asked"], kept["answer"], run_id=kept["run"], visitor=visitor,
                            )
            elif refused := await self._answer_refusal(visit, kept["run"]):
                raise BadInput(refused)
            else:
                await self._continue(kept["run"], kept["interrupt"], visit, answer=kept["answer"])
        except refusals(ValueError) as fault:
            yield await self._refusal_update(kept, visit, fault)
            return
        async for shown in self.watch(kept, visit):
            yield shown

    async def watch(self, kept: BrowserRun, visit: Visit) -> AsyncIterator[Update]:
        """Follows a run from its first event until it ends or waits for a user. A run that paused
        while its visitor was away continues."""
        if not kept["run"] or await self._started(kept["run"]) is None:
            lost = kept["run"] and kept["run"] not in self._passing_uploads
            yield {"said": sentence(LOST)} if lost else {}
            return
        session = await self._host.session()
        folding = LogFold()
        # A visitor who only has the link does not keep a run of another visitor running.
        own = await self.panel.owns(kept["run"], visit)
        viewing = self._viewing(session, kept["run"]) if own else nullcontext()

        def partial_replies() -> Mapping[int, str]:
            return session.partial_answers(kept["run"])

        try:
            with viewing, self._following(visit) as newest:
                waiting = (await self._result(kept["run"])).waiting
                if waiting is not None and waiting.needs == "visitor" and not (
                    await self._answer_refusal(visit, kept["run"])
                ):
                    try:
                        await self._continue(kept["run"], waiting.interrupt, visit)
                    except LimitExceeded as refusal:  # the run is shown, and still waits
                        yield {"said": sentence(str(refusal))}
                async for batch in throttled(session.follow(kept["run"]), watched=partial_replies):
                    if not newest():
                        return
                    if not batch:
                        yield {"writing": writing(partial_replies())}
                        continue
                    result = required(folding.after(batch))
                    bench = await draw(result, own=own)
                    if newest():
                        yield {"bench": bench, "writing": writing(partial_replies())}
                    if result.waiting is not None:
                        return
        except LimitExceeded as refusal:
            yield {"said": sentence(str(refusal))}

    async def linger(self, kept: BrowserRun, visit: Visit) -> AsyncIterator[Update]:
        """Waits until the question of a run is answered in another tab or by a program, and returns
        which question that was. Fails if the page follows another run meanwhile."""
        try:
            log = await self._log(kept["run"]) or ()
        except Unavailable as fault:
            raise gr.Error(str(fault), visible=False, print_exception=False) from fault
        waiting, run = fold(log).waiting, kept["run"]
        if waiting is None:
            yield {"moved": kept["interrupt"]}
            return
        session, before = await self._host.session(), self._newest.get(visit["page"])
        visitor = self.panel.visitor(visit)
        with suppress(LimitExceeded), self._host.following(visitor, visit["address"]):
            async for batch in throttled(session.follow(run, log[-1].seq)):
                now = (await self._result(run)).waiting if batch else waiting
                if now is None or now.interrupt != waiting.interrupt:
                    yield {"moved": waiting.interrupt}
                    return
                if self._newest.get(visit["page"], before) is not before:
                    break
                yield {}
        raise gr.Error("The page follows another run.", visible=False, print_exception=False)

    async def settle(self, kept: BrowserRun, visit: Visit) -> Update:
        """Updates the buttons after a run ended, paused or never started. If the page follows no
        run, nothing changes, because its visitor may just have started one."""
        if not kept["run"]:
            return {}
        try:
            here = await self._host.running()
            known = await self._log(kept["run"])
            is_green, back = kept["run"] in self._passing_uploads, kept["asked"] or kept["before"]
            if known is None and back and not is_green:  # the new run did not start
                kept = {**kept, "run": back}
                known = await self._log(back)
            result = fold(known or ())
        except Unavailable:  # `heal` has shown why
            if self._host.leaving:  # the next server continues the run, or stops it
                return buttons(running=False, stops=True)
            return {
                "saved-run": kept, **buttons(running=False), **review_card(None),
                **question_row(None), **paused_row(None),
            }
        waiting, closed = result.waiting, bool(here.refusal)
        needs = waiting.needs if waiting is not None else None
        paused = waiting if needs in ("budget", "key") and not closed else None
        own = await self.panel.owns(kept["run"], visit)
        active = result.phase in ("running", "waiting")
        review = waiting if needs in REVIEW_NEEDS and own and not closed else None
        interrupt = waiting.interrupt if waiting is not None else ""
        lost = known is None and not is_green
        return {
            **({"bench": NO_RUN_WORKBENCH} if lost else {}),
            "saved-run": {
                **kept, "run": "" if known is None else kept["run"], "interrupt": interrupt,
                "before": "", "asked": "", "answer": "",
            },
            **buttons(running=own and active, closed=closed),
            **review_card(review, asked=bool(interrupt) and interrupt == kept["interrupt"]),
            **question_row(
                None if closed or (waiting is not None and not own) else result.question,
                waits=waiting is not None, own=own,
            ),
            **paused_row(paused, own=paused is not None and own),
        }

    async def settle_answer(self, kept: BrowserRun, visit: Visit) -> Update:
        """Updates the buttons after a valid answer. After an invalid one nothing changes, because
        another answer may be on its way."""
        return await self.settle(kept, visit) if kept["answer"] else {}

    async def use(self, kept: BrowserRun, looked: str = "") -> Update:
        """Copies a program of the shown run into the editor: the selected one, or the result."""
        result = await self._result(kept["run"])
        place = _place(looked)
        known = place is not None and place < len(result.tested_programs)
        code = text_of(result, place) if known and place is not None else result.shown_code
        return {"code": code, "said": ""} if code else {}

    async def edit(self, kept: BrowserRun, looked: str, visit: Visit) -> Update:
        """Copies a program into the editor, with the tests and the task of its run."""
        used = await self.use(kept, looked)
        own = used and await self.panel.owns(kept["run"], visit)
        return {**await self._typed(kept["run"], kept if own else NO_RUN), **used} if used else {}

    async def _typed(self, run: str, kept: BrowserRun) -> dict[str, str]:
        from demo.submission import task_as_fields  # already imported by the session

        typed = {"code": kept["code"], "tests": kept["tests"], "words": kept["words"]}
        if any(typed.values()):
            return typed
        return task_as_fields((await self._host.session()).task(run))

    async def begin_fork(self, kept: BrowserRun, looked: str) -> Update:
        """Returns the id of a new run that starts from the selected program."""
        place = _place(looked)
        if place is None:
            return {"said": sentence(UNKNOWN_PROGRAM)}
        return started_page(_with_answer({**kept, "interrupt": ""}, str(place)))

    async def fork(self, kept: BrowserRun, visit: Visit) -> AsyncIterator[Update]:
        """Starts a run from a program of another run of this visitor, and follows it."""
        from agent.loop.fork import BadFork, Edits  # already imported by the session

        if not kept["asked"]:  # the page has started another run meanwhile
            yield {}
            return
        self._newest.pop(visit["page"], None)
        try:
            tested = (await self._result(kept["asked"])).tested_programs
            place = _place(kept["answer"])
            if refused := await self._answer_refusal(visit, kept["asked"]):
                raise BadFork(refused)
            if place is None or place >= len(tested):
                raise BadFork(UNKNOWN_PROGRAM)
            at = tested[place]
            last = [one for one in tested if one.iteration == at.iteration][-1]
            other = {} if at is last or at.solution is None else {"": at.solution.text}
            session, visitor = await self._host.session(), self.panel.visitor(visit)
            async with self._starting(kept["run"], visit) as is_new:
                if is_new:
                    address = visit["address"]
                    with self._host.counted_work(session, visitor, address, (), kept["run"]):
                        await session.fork(
                            kept["asked"], at.iteration, Edits(other), run_id=kept["run"],
                            plan=await self.panel.plan(visit), visitor=visitor, pauses=True,
                        )
        except refusals() as refusal:
            yield await self._refusal_update(kept, visit, refusal)
            return
        async for shown in self.watch(kept, visit):
            yield shown

    async def choose(self, kept: BrowserRun, visit: Visit, *, typed: dict[str, str]) -> Update:
        """Fills in an example, unless a run is in progress."""
        result, own = await self._result(kept["run"]), await self.panel.owns(kept["run"], visit)
        if own and result.phase in ("running", "waiting"):
            return {"said": sentence("A run is in progress. Stop it, then choose an example.")}
        return {**typed, "said": ""}

    async def stop(self, kept: BrowserRun, visit: Visit) -> Update:
        """Cancels the visitor's run; all pages that follow it show its end."""
        session = await self._host.session()
        if not kept["run"]:
            return {"said": sentence("There is no run to stop.")}
        if await self._log(kept["run"]) is None:
            if not _is_new_id(kept["run"]):
                return {"said": sentence("There is no run to stop.")}
            stopped, near = self._stopped_early, visit["address"]
            stopped[kept["run"], self.panel.visitor(visit)] = near
            if [*stopped.values()].count(near) > MAX_STOPPED_NEAR:
                del stopped[next(one for one, where in stopped.items() if where == near)]
            while len(stopped) > MAX_STOPPED:
                stopped.popitem(last=False)
        elif not await self.panel.owns(kept["run"], visit):
            return {"said": sentence(f"{NOT_OWNER}stop it.")}
        else:
            await session.cancel(kept["run"])
        return {"said": ""}

    async def decide(self, kept: BrowserRun, visit: Visit, **value: object) -> Update:
        """Answers the question that this page shows, if the visitor started the run."""
        from agent.target.errors import BadInput

        try:
            if refused := await self._answer_refusal(visit, kept["run"]):
                return {"said": sentence(refused)}
            taken = await self._continue(kept["run"], kept["interrupt"], visit, **value)
        except (Unavailable, BadInput, LimitExceeded) as refusal:
            return {"said": sentence(str(refusal))}
        closed = "" if taken else sentence(CLOSED_QUESTION)
        return {"said": closed, "review": gr.update(visible=False)}

    async def advise(self, kept: BrowserRun, visit: Visit, hint: str) -> Update:
        """Requests another repair with a hint."""
        if not hint.strip():
            return {"said": sentence("The hint is empty. Describe what the repair should do.")}
        return await self.decide(kept, visit, hint=hint)

    async def bring(self, kept: BrowserRun, visit: Visit, code: str) -> Update:
        """Submits a program that the visitor edited."""
        waiting = (await self._result(kept["run"])).waiting
        if waiting is not None and code == waiting.code:
            return {"said": sentence("The program was not changed. Edit it first.")}
        return await self.decide(kept, visit, code=code)

    async def go_on(self, kept: BrowserRun, visit: Visit, *, end: bool = False) -> Update:
        """Continues or ends a run that has reached a limit or lacks a key, if the visitor started
        it."""
        session = await self._host.session()
        waiting = (await self._result(kept["run"])).waiting
        if waiting is None or waiting.interrupt != kept["interrupt"]:
            message = CLOSED_QUESTION
        elif not await self.panel.owns(kept["run"], visit):
            message = f"{NOT_OWNER}continue it."
        elif waiting.needs == "key" and not (end or session.has_all_keys(kept["run"])):
            message = "The key is still missing. Enter it under “Models and keys”."
        else:
            return await self.decide(kept, visit, **({"end": True} if end else {}))
        return {"said": sentence(message)}

    async def _continue(self, run: str, interrupt: str, visit: Visit, **value: object) -> bool:
        """Answers what a visitor's run waits for, which counts like a start; returns whether the
        answer was accepted. Raises `LimitExceeded`."""
        session = await self._host.session()
        submitted = [one for one in value.values() if isinstance(one, str)]
        with nullcontext() if "end" in value else self._host.counted_work(
            session, self.panel.visitor(visit), visit["address"], submitted, run
        ):
            return await session.answer(run, interrupt, value)

    async def _answer_refusal(self, visit: Visit, run: str) -> str:
        refusal = (await self._host.running()).refusal
        if refusal or await self.panel.owns(run, visit):
            return refusal
        return f"{NOT_OWNER}answer it."

    @asynccontextmanager
    async def _starting(self, run: str, visit: Visit) -> AsyncIterator[bool]:
        """Yields whether a run is still to be started. The same click can arrive twice; the second
        waits for the first. Raises `LimitExceeded`, or `BadInput` for an id that no page made."""
        from agent.target.errors import BadInput

        while prepared := self._preparing.get(run):
            with self._host.following(self.panel.visitor(visit), visit["address"]):
                await prepared.wait()
        preparing = self._preparing[run] = asyncio.Event()
        try:
            is_new = await self._log(run) is None
            if is_new and not _is_new_id(run):
                raise BadInput("This page has lost its run. Reload it, then try again.")
            yield is_new
        finally:
            preparing.set()
            del self._preparing[run]

    @contextmanager
    def _following(self, visit: Visit) -> Iterator[Callable[[], bool]]:
        """Registers a stream of an open page; yields a function that returns whether it is still
        the page's newest. Raises `LimitExceeded`."""
        page, own = visit["page"] or uuid4().hex, object()
        with self._host.following(self.panel.visitor(visit), visit["address"]):
            self._newest[page] = own
            try:
                yield lambda: self._newest.get(page) is own
            finally:
                if self._newest.get(page) is own:
                    del self._newest[page]

    async def _refusal_update(self, kept: BrowserRun, visit: Visit, why: Exception) -> Update:
        run = kept["asked"] or kept["before"] or kept["run"]
        with suppress(Unavailable):
            if log := await self._log(run):
                own = await self.panel.owns(run, visit)
                return {
                    **refused(refusal_words(why)), "bench": workbench(required(fold(log)), own=own)
                }
        return refused(refusal_words(why))

    def _viewing(self, session: Session | SavedRuns, run: str) -> AbstractContextManager[None]:
        return self._host.viewers.viewing(run, session.settings.grace_s, session.pause)

    async def _result(self, run: str) -> Result:
        return fold(await self._log(run) or ())

    async def _started(self, run: str) -> tuple[LogEntry, ...] | None:
        """Waits until a run is started or refused, and returns its log; `None` if unknown."""
        if preparing := self._preparing.get(run):
            await preparing.wait()
        return await self._log(run)

    async def _log(self, run: str) -> tuple[LogEntry, ...] | None:
        session = await self._host.session()
        try:
            return session.log(run)
        except DatabaseUnavailable as fault:
            raise Unavailable(refusal_words(fault)) from fault
        except (KeyError, ValueError):
            return None


async def draw(result: Result, *, own: bool) -> str:
    """Renders the workbench of a run with its current time. A large one is rendered in a thread, so
    that other pages are not blocked."""
    since_s = time.time() - result.last_event_at
    if result.phase == "running" and result.start is not None and (
        0 < since_s < result.start.limit_s - result.worked_s  # else no process runs it
    ):
        result = replace(result, seconds=result.seconds + since_s)
    places = range(len(result.tested_programs))
    if sum(len(text_of(result, place)) for place in places) <= MAX_INLINE_CHARS:
        return workbench(result, own=own)
    return await asyncio.to_thread(workbench, result, own=own)


def _place(text: str) -> int | None:
    return int(text) if text.isdecimal() and len(text) < LONGEST_PLACE else None


def _is_new_id(run: str) -> bool:
    """Whether an id can come from a page: a random UUID."""
    try:
        return str(UUID(run)) == run and UUID(run).version == 4
    except ValueError:
        return False


def _with_answer(kept: BrowserRun, answer: str) -> BrowserRun:
    """Returns the browser's state for an answer. A waiting run continues; an ended run starts again
    under a new id."""
    if kept["interrupt"]:
        return {**kept, "asked": "", "answer": answer, "doubted": ""}
    return {**kept, "asked": kept["run"], "answer": answer, "doubted": "", "run": str(uuid4())}
