"""What happens on the page: each act says which parts of it change, and to what.

A run is a task of the session, known to the browser by its identifier before it begins. The page
only follows it: reloading follows again, and a run that asks models waits for whoever closed it.
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
from agent.core.events import Stamped
from agent.report.result import Folding, Result, fold
from agent.report.waiting import REVIEWED
from agent.search.ranking.question import BadAnswer, answered_test, choices
from demo.browser_state import (
    NEW_VISIT,
    NO_RUN,
    OPTIONS,
    BrowserRun,
    Typed,
    Update,
    Visit,
)
from demo.models.choice import offered
from demo.models.panel import Panel
from demo.models.plans import banner
from demo.phases import (
    begun_page,
    buttons,
    closed_page,
    paused_row,
    question_row,
    refused,
    review_card,
)
from demo.serving.api import refusals
from demo.serving.host import SavedRuns, SessionHost, Unavailable
from demo.serving.limits import TooMuch
from demo.serving.throttle import throttled
from demo.views.bench import NOTHING, workbench
from demo.views.escape import sentence
from demo.views.programs import text_of
from demo.views.required import required
from demo.views.trace import writing
from llm.provider import MOCK

if TYPE_CHECKING:
    from agent.loop.session import Session

LONGEST_KEPT = 200_000
"""Characters of input a browser is asked to keep; its storage is small."""
MAX_STOPPED, MAX_STOPPED_NEAR = 1_000, 20
"""Runs that were stopped early and never begun, which are remembered; and those of one address."""
LOST = (
    "That run is not known here: it had not begun when the page was left, its address is wrong, or "
    "its log was removed. Press Heal to start one."
)
LONGEST_PLACE = 6
"""Digits by which a program of a run is named, and one more."""
DRAWN_AT_ONCE = 20_000
"""Characters of a run's programs that are drawn in the event loop."""


class Page:
    """What happens on the page; every public method handles one kind of event."""

    def __init__(self, host: SessionHost) -> None:
        self._host = host
        self.panel = Panel(host)
        self._stopped_early: OrderedDict[tuple[str, str], str] = OrderedDict()
        """Runs that were stopped before they began, by whom, and from which address."""
        self._preparing: dict[str, asyncio.Event] = {}
        """Runs whose task is being made of what was brought, each with its end."""
        self._newest: dict[str, object] = {}
        """The stream that each open page follows."""
        self._status: deque[str] = deque(maxlen=MAX_STOPPED)
        """Runs that were not begun, since what was brought is green."""

    async def arrive(
        self, asked: str, kept: BrowserRun | None, code: str, tests: str, words: str,
        visit: Visit | None,
    ) -> Update:
        """A page was opened or reloaded: says who heals here, and at what price, and finds the run
        to follow, first the one that its address asks for.

        What somebody has typed meanwhile is left alone.
        """
        kept = {**NO_RUN, **kept} if kept else NO_RUN
        visit = self.panel.known({**NEW_VISIT, **visit} if visit else NEW_VISIT)
        if visit["provider"] not in ("", MOCK, *offered(public=self._host.access.public)):
            visit = {**visit, "provider": "", "model": ""}  # it was, when the browser kept it
        before = {"code": kept["code"], "tests": kept["tests"], "words": kept["words"]}
        now = {"code": code, "tests": tests, "words": words}
        typed = before if any(before.values()) and not any(now.values()) else {}
        update: Update = {"visit": visit}
        try:
            running = await self._host.running()
            shown = await self.panel.shown(visit, *(typed or now).values())
        except Unavailable as fault:
            return {
                **update, "kept": {**kept, "run": asked or kept["run"], "interrupt": ""},
                "plan": "", "wordless": "", "banner": "", "said": sentence(str(fault)),
                **buttons(running=False),
            }
        run, said = asked or kept["run"], ""
        if run and await self._begun(run) is None:
            said = sentence(LOST)
            run = kept["run"] if await self._log(kept["run"]) is not None else ""
        own = bool(run) and await self.panel.owns(run, visit)
        if run and not own and asked != run:  # somebody else's, whose link is left
            run = ""
        if own and asked == run != kept["run"]:  # by its link, or again
            code, tests, words = (await self._typed(run, NO_RUN)).values()
            kept = {**kept, "code": code, "tests": tests, "words": words}
            update |= await self.predict(visit, code, tests, words)
        return {
            "kept": {**kept, "run": run, "interrupt": ""}, "said": said,
            **({"bench": NOTHING} if said and not run else {}),
            "banner": banner(running.warning, running.refusal), **shown, **update,
            "provider": visit["provider"], "model": visit["model"], "roles": visit["roles"],
            **buttons(running=own, closed=bool(running.refusal)),
        }

    async def predict(self, visit: Visit, *typed: Typed) -> Update:
        """What a run may cost for what is typed now, and who answers: a model is loaded by then."""
        shown = await self.panel.shown(visit, *typed)
        return {name: shown[name] for name in ("plan", "spending")}

    async def heal(
        self, visit: Visit, kept: BrowserRun, code: str, tests: str, words: str,
        *options: object,
    ) -> AsyncIterator[Update]:
        """Starts the run and follows it; `options` are the values of the first of `OPTIONS`."""
        from demo.submission import begun  # the session has imported it

        run, visitor, submitted = kept["run"], self.panel.visitor(visit), None
        typed = (code or "", tests or "", words or "")
        self._newest.pop(visit["page"], None)  # it follows no other run from here on
        try:
            session = await self._host.session()
            async with self._beginning(run, visit) as is_new:
                if is_new:
                    submitted = await begun(
                        self._host, self.panel, visit, run, typed,
                        dict(zip(OPTIONS, options, strict=False)), address=visit["address"],
                        pauses=True, stopped=lambda: (run, visitor) in self._stopped_early,
                    )
        except refusals() as refusal:
            yield await self._back(kept, visit, refusal)
            return
        begins = submitted is not None and submitted.task is not None
        if begins and (run, visitor) in self._stopped_early:  # while it was being started
            await session.cancel(run)
        with self._looking(session, run) if begins else nullcontext():
            notices = submitted.notices if submitted else ()
            yield {"said": "".join(sentence(one, "info") for one in notices)}
            if submitted is not None and not begins:
                self._status.append(run)
                yield {"bench": workbench(submitted.concluded(()))}
                return
            async for shown in self.watch(kept, visit):
                yield shown

    async def choose_behaviour(
        self, kept: BrowserRun, visit: Visit = NEW_VISIT, tests: Typed = None, *, place: int
    ) -> Update:
        """The answer to the question that is shown, by its place among the buttons."""
        rivals = (await self._result(kept["run"])).question
        offered = choices(rivals) if rivals is not None else ()
        if place >= len(offered):
            return closed_page(kept)
        labels, _ = offered[place]
        assert rivals is not None, "something is offered"
        return await self._answered(kept, rivals, labels[0], visit, tests)

    async def write_behaviour(
        self, kept: BrowserRun, written: str, visit: Visit = NEW_VISIT, tests: Typed = None
    ) -> Update:
        """The answer to the question that is shown, as a person wrote it; what answers nothing
        is told and stays to be changed."""
        rivals = (await self._result(kept["run"])).question
        if rivals is None:
            return closed_page(kept)
        try:
            if answered_test(rivals, written) is None and not kept["interrupt"]:
                raise BadAnswer("That run has ended: there is nothing to skip.")
        except BadAnswer as error:
            return {"kept": {**kept, "answer": ""}, "wrong": sentence(str(error))}
        return await self._answered(kept, rivals, written, visit, tests)

    async def _answered(
        self, kept: BrowserRun, rivals: CompetingPatches, answer: str, visit: Visit, tests: Typed
    ) -> Update:
        """The page that an answer leads to: its test joins those of the run in their field, where
        they still stand there."""
        update, test = begun_page(_answering(kept, answer)), answered_test(rivals, answer)
        typed = bool(kept["code"] or kept["words"]) and tests == kept["tests"]
        if not typed or test is None or test.code in kept["tests"] or not (
            await self.panel.owns(kept["run"], visit)
        ):
            return update
        grown = f"{kept['tests'].rstrip()}\n{test.code}\n".lstrip()
        return {**update, "kept": {**update["kept"], "tests": grown}, "tests": grown}

    async def answer(self, kept: BrowserRun, visit: Visit) -> AsyncIterator[Update]:
        """Gives the chosen answer, if there is one, and follows the run that it leads to."""
        if not kept["answer"]:
            yield {}
            return
        from agent.target.errors import BadInput

        self._newest.pop(visit["page"], None)
        try:
            session = await self._host.session()
            if kept["asked"]:
                visitor = self.panel.visitor(visit)
                async with self._beginning(kept["run"], visit) as is_new:
                    if is_new:
                        with self._host.working(
                            session, visitor, visit["address"], [kept["answer"]], kept["run"]
                        ):
                            await session.settle(
                                kept["asked"], kept["answer"], run_id=kept["run"], visitor=visitor,
                            )
            elif refused := await self._refused_to(visit, kept["run"]):
                raise BadInput(refused)
            else:
                await self._go_on(kept["run"], kept["interrupt"], visit, answer=kept["answer"])
        except refusals(ValueError) as fault:
            yield await self._back(kept, visit, fault)
            return
        async for shown in self.watch(kept, visit):
            yield shown

    async def watch(self, kept: BrowserRun, visit: Visit) -> AsyncIterator[Update]:
        """Follows a run from its first event until it ends or waits for a person. One that waits
        for whoever started it goes on when they come back."""
        if not kept["run"] or await self._begun(kept["run"]) is None:
            lost = kept["run"] and kept["run"] not in self._status
            yield {"said": sentence(LOST)} if lost else {}
            return
        session = await self._host.session()
        folding = Folding()
        # Whoever has no more than the link keeps nobody else's run going.
        own = await self.panel.owns(kept["run"], visit)
        looking = self._looking(session, kept["run"]) if own else nullcontext()

        def said() -> Mapping[int, str]:
            return session.so_far(kept["run"])

        try:
            with looking, self._following(visit) as newest:
                waiting = (await self._result(kept["run"])).waiting
                if waiting is not None and waiting.needs == "visitor" and not (
                    await self._refused_to(visit, kept["run"])
                ):
                    try:
                        await self._go_on(kept["run"], waiting.interrupt, visit)
                    except TooMuch as refusal:  # it waits on, and is shown
                        yield {"said": sentence(str(refusal))}
                async for batch in throttled(session.follow(kept["run"]), passing=said):
                    if not newest():
                        return
                    if not batch:
                        yield {"writing": writing(said())}
                        continue
                    result = required(folding.after(batch))
                    bench = await drawn(result, own=own)
                    if newest():
                        yield {"bench": bench, "writing": writing(said())}
                    if result.waiting is not None:
                        return
        except TooMuch as refusal:
            yield {"said": sentence(str(refusal))}

    async def linger(self, kept: BrowserRun, visit: Visit) -> AsyncIterator[Update]:
        """Waits with a run until it goes on, answered in another tab or by a program, and tells
        which question that was; but not where the page has come to follow another meanwhile."""
        try:
            log = await self._log(kept["run"]) or ()
        except Unavailable as fault:
            raise gr.Error(str(fault), visible=False, print_exception=False) from fault
        waiting, run = fold(log).waiting, kept["run"]
        if waiting is None:
            yield {"moved": kept["interrupt"]}
            return
        session, before = await self._host.session(), self._newest.get(visit["page"])
        with (
            suppress(TooMuch), self._host.following(self.panel.visitor(visit), visit["address"])
        ):
            async for batch in throttled(session.follow(run, log[-1].seq)):
                now = (await self._result(run)).waiting if batch else waiting
                if now is None or now.interrupt != waiting.interrupt:
                    yield {"moved": waiting.interrupt}
                    return
                if self._newest.get(visit["page"], before) is not before:
                    break
                yield {}
        raise gr.Error("It is not waited for any longer.", visible=False, print_exception=False)

    async def settle(self, kept: BrowserRun, visit: Visit) -> Update:
        """The run ended, waits or never began: gives the buttons back. A page that came to follow
        none is left as it is: by now its visitor may have begun one."""
        if not kept["run"]:
            return {}
        try:
            here = await self._host.running()
            known = await self._log(kept["run"])
            standing, back = kept["run"] in self._status, kept["asked"] or kept["before"]
            if known is None and back and not standing:  # nothing was begun from there
                kept = {**kept, "run": back}
                known = await self._log(back)
            result = fold(known or ())
        except Unavailable:  # `heal` has said why
            if self._host.leaving:  # the next server continues the run, or stops it
                return buttons(running=False, stops=True)
            return {
                "kept": kept, **buttons(running=False), **review_card(None),
                **question_row(None), **paused_row(None),
            }
        waiting, closed = result.waiting, bool(here.refusal)
        needs = waiting.needs if waiting is not None else None
        paused = waiting if needs in ("budget", "key") and not closed else None
        own = await self.panel.owns(kept["run"], visit)
        going = result.phase in ("running", "waiting")
        review = waiting if needs in REVIEWED and own and not closed else None
        interrupt = waiting.interrupt if waiting is not None else ""
        lost = known is None and not standing
        return {
            **({"bench": NOTHING} if lost else {}),
            "kept": {
                **kept, "run": "" if known is None else kept["run"], "interrupt": interrupt,
                "before": "", "asked": "", "answer": "",
            },
            **buttons(running=own and going, closed=closed),
            **review_card(review, asked=bool(interrupt) and interrupt == kept["interrupt"]),
            **question_row(
                None if closed or (waiting is not None and not own) else result.question,
                waits=waiting is not None, own=own,
            ),
            **paused_row(paused, own=paused is not None and own),
        }

    async def settle_answer(self, kept: BrowserRun, visit: Visit) -> Update:
        """As `settle`, once an answer was given. Where what was written answered nothing, the page
        stays as it is: by now another answer may be on its way."""
        return await self.settle(kept, visit) if kept["answer"] else {}

    async def use(self, kept: BrowserRun, looked: str = "") -> Update:
        """Puts a program of the run that is shown where the next one is typed: the one that is
        looked at, or that which the run leaves."""
        result = await self._result(kept["run"])
        place = _place(looked)
        known = place is not None and place < len(result.columns)
        code = text_of(result, place) if known and place is not None else result.shown_code
        return {"code": code, "said": ""} if code else {}

    async def edit(self, kept: BrowserRun, looked: str, visit: Visit) -> Update:
        """As `use`, with the tests and the words of that run beside it."""
        used = await self.use(kept, looked)
        own = used and await self.panel.owns(kept["run"], visit)
        return {**await self._typed(kept["run"], kept if own else NO_RUN), **used} if used else {}

    async def _typed(self, run: str, kept: BrowserRun) -> dict[str, str]:
        """What a run was typed as: as this browser has kept it, or else by its task."""
        from demo.submission import as_typed  # the session has imported it

        typed = {"code": kept["code"], "tests": kept["tests"], "words": kept["words"]}
        if any(typed.values()):
            return typed
        return as_typed((await self._host.session()).task(run))

    async def begin_fork(self, kept: BrowserRun, looked: str) -> Update:
        """Gives the browser the identifier of a run that starts from the program looked at."""
        place = _place(looked)
        if place is None:
            return {"said": sentence("That program is not known here.")}
        return begun_page(_answering({**kept, "interrupt": ""}, str(place)))

    async def fork(self, kept: BrowserRun, visit: Visit) -> AsyncIterator[Update]:
        """Starts a run from a program of another, for whoever started that, and follows it."""
        from agent.loop.fork import BadFork, Edits  # the session has imported it

        if not kept["asked"]:  # by now the page has begun another run
            yield {}
            return
        self._newest.pop(visit["page"], None)
        try:
            columns = (await self._result(kept["asked"])).columns
            place = _place(kept["answer"])
            if refused := await self._refused_to(visit, kept["asked"]):
                raise BadFork(refused)
            if place is None or place >= len(columns):
                raise BadFork("That program is not known here.")
            at = columns[place]
            last = [one for one in columns if one.iteration == at.iteration][-1]
            other = {} if at is last or at.solution is None else {"": at.solution.text}
            session, visitor = await self._host.session(), self.panel.visitor(visit)
            async with self._beginning(kept["run"], visit) as is_new:
                if is_new:
                    with self._host.working(session, visitor, visit["address"], (), kept["run"]):
                        await session.fork(
                            kept["asked"], at.iteration, Edits(other), run_id=kept["run"],
                            plan=await self.panel.plan(visit), visitor=visitor, pauses=True,
                        )
        except refusals() as refusal:
            yield await self._back(kept, visit, refusal)
            return
        async for shown in self.watch(kept, visit):
            yield shown

    async def choose(self, kept: BrowserRun, visit: Visit, *, typed: dict[str, str]) -> Update:
        """Fills an example in, unless that would put it beside another program's run."""
        result, own = await self._result(kept["run"]), await self.panel.owns(kept["run"], visit)
        if own and result.phase in ("running", "waiting"):
            said = "A run goes on here. Stop it, then choose an example."
            return {"said": sentence(said)}
        return {**typed, "said": ""}

    async def stop(self, kept: BrowserRun, visit: Visit) -> Update:
        """Cancels the run of whoever started it; all who follow it see its end."""
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
            return {"said": sentence("Only whoever started this run can stop it.")}
        else:
            await session.cancel(kept["run"])
        return {"said": ""}

    async def decide(
        self, kept: BrowserRun, visit: Visit, **value: object
    ) -> Update:
        """Answers the question that this page showed, and no later one, for whoever started the
        run."""
        from agent.target.errors import BadInput

        try:
            if refused := await self._refused_to(visit, kept["run"]):
                return {"said": sentence(refused)}
            taken = await self._go_on(kept["run"], kept["interrupt"], visit, **value)
        except (Unavailable, BadInput, TooMuch) as refusal:
            return {"said": sentence(str(refusal))}
        closed = "" if taken else sentence("That question is closed.")
        return {"said": closed, "review": gr.update(visible=False)}

    async def advise(self, kept: BrowserRun, visit: Visit, hint: str) -> Update:
        """Has another repair tried, by a hint."""
        if not hint.strip():
            return {"said": sentence("Write what it should do otherwise.")}
        return await self.decide(kept, visit, hint=hint)

    async def bring(self, kept: BrowserRun, visit: Visit, code: str) -> Update:
        """Has the program judged as a person has changed it."""
        waiting = (await self._result(kept["run"])).waiting
        if waiting is not None and code == waiting.code:
            return {"said": sentence("Nothing is changed yet: edit the program first.")}
        return await self.decide(kept, visit, code=code)

    async def go_on(
        self, kept: BrowserRun, visit: Visit, *, end: bool = False
    ) -> Update:
        """Lets a run go on that has reached a cap or lacked a key, or ends it there; only whoever
        started it may have more spent."""
        session = await self._host.session()
        waiting = (await self._result(kept["run"])).waiting
        if waiting is None or waiting.interrupt != kept["interrupt"]:
            said = "That question is closed."
        elif not await self.panel.owns(kept["run"], visit):
            said = "Only whoever started this run can let it go on."
        elif waiting.needs == "key" and not (end or session.can_go_on(kept["run"])):
            said = "That key is still missing: give it under “Models and keys”."
        else:
            return await self.decide(kept, visit, **({"end": True} if end else {}))
        return {"said": sentence(said)}

    async def _go_on(self, run: str, interrupt: str, visit: Visit, **value: object) -> bool:
        """Answers what a visitor's run waits for, so that it goes on, which counts as its start
        did; returns whether the answer was taken. Raises `TooMuch`."""
        session = await self._host.session()
        submitted = [one for one in value.values() if isinstance(one, str)]
        with nullcontext() if "end" in value else self._host.working(
            session, self.panel.visitor(visit), visit["address"], submitted, run
        ):
            return await session.answer(run, interrupt, value)

    async def _refused_to(self, visit: Visit, run: str) -> str:
        """Why a visitor may not answer what a run asks; empty where they may."""
        refusal = (await self._host.running()).refusal
        if refusal or await self.panel.owns(run, visit):
            return refusal
        return "Only whoever started this run can answer it."

    @asynccontextmanager
    async def _beginning(self, run: str, visit: Visit) -> AsyncIterator[bool]:
        """The same click can come twice: one of them begins the run, and the other waits for that.
        Yields whether it is still to be begun. Raises `TooMuch`, and `BadInput` for an identifier
        that no page gave out."""
        from agent.target.errors import BadInput

        while begun := self._preparing.get(run):
            with self._host.following(self.panel.visitor(visit), visit["address"]):
                await begun.wait()
        preparing = self._preparing[run] = asyncio.Event()
        try:
            is_new = await self._log(run) is None
            if is_new and not _is_new_id(run):
                raise BadInput("This page has lost its run: reload it, then try again.")
            yield is_new
        finally:
            preparing.set()
            del self._preparing[run]

    @contextmanager
    def _following(self, visit: Visit) -> Iterator[Callable[[], bool]]:
        """A stream of an open page, which tells whether it still is the newest: a page shows one.
        Raises `TooMuch`."""
        page, own = visit["page"] or uuid4().hex, object()
        with self._host.following(self.panel.visitor(visit), visit["address"]):
            self._newest[page] = own
            try:
                yield lambda: self._newest.get(page) is own
            finally:
                if self._newest.get(page) is own:
                    del self._newest[page]

    async def _back(self, kept: BrowserRun, visit: Visit, why: object) -> Update:
        """The page of the run that was asked about, where nothing came of it, and why."""
        run = kept["asked"] or kept["before"] or kept["run"]
        with suppress(Unavailable):
            if log := await self._log(run):
                own = await self.panel.owns(run, visit)
                return {**refused(why), "bench": workbench(required(fold(log)), own=own)}
        return refused(why)

    def _looking(self, session: Session | SavedRuns, run: str) -> AbstractContextManager[None]:
        return self._host.onlookers.looking(run, session.settings.grace_s, session.pause)

    async def _result(self, run: str) -> Result:
        return fold(await self._log(run) or ())

    async def _begun(self, run: str) -> tuple[Stamped, ...] | None:
        """The log of a run, once it is begun or refused; `None` where there is no such run."""
        if preparing := self._preparing.get(run):
            await preparing.wait()
        return await self._log(run)

    async def _log(self, run: str) -> tuple[Stamped, ...] | None:
        """The log of a run, or `None` where there is no such run."""
        session = await self._host.session()
        try:
            return session.log(run)
        except (KeyError, ValueError):
            return None


async def drawn(result: Result, *, own: bool) -> str:
    """The workbench of a run, its clock where it is now. A large one is drawn in a thread, to hold
    up nobody else's page."""
    since_s = time.time() - result.told_at
    if result.phase == "running" and result.start is not None and (
        0 < since_s < result.start.limit_s - result.worked_s  # nobody drives it where it is longer
    ):
        result = replace(result, seconds=result.seconds + since_s)
    if sum(len(text_of(result, place)) for place in range(len(result.columns))) <= DRAWN_AT_ONCE:
        return workbench(result, own=own)
    return await asyncio.to_thread(workbench, result, own=own)


def _place(said: str) -> int | None:
    return int(said) if said.isdecimal() and len(said) < LONGEST_PLACE else None


def _is_new_id(run: str) -> bool:
    """Whether it can be the identifier that a page gave out: nobody guesses those."""
    try:
        return str(UUID(run)) == run and UUID(run).version == 4
    except ValueError:
        return False


def _answering(kept: BrowserRun, answer: str) -> BrowserRun:
    """What the browser keeps of an answer: a run that waits for it goes on; one that has ended
    is begun again under another identifier, which the browser knows before it exists."""
    if kept["interrupt"]:
        return {**kept, "asked": "", "answer": answer}
    return {**kept, "asked": kept["run"], "answer": answer, "run": str(uuid4())}
