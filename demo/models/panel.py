"""Models and keys on the page: whose visit it is, who would answer, and their keys.

A key goes from its field to `Models.add_key` and nowhere else. On a page that only this machine
reaches every visitor is the owner, whose keys just work; on a public one each is told apart by a
random word that only their browser has.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Literal

from agent.core.settings import GENERATOR
from agent.iteration.models import OWNER, BadKey, Models
from demo.browser_state import Typed, Update, Visit
from demo.models import plans
from demo.models.choice import BadModelChoice, chosen_roles, keyed
from demo.serving.host import SessionHost, Unavailable, visitor_by
from demo.serving.limits import Rate
from demo.serving.visitors import is_word, new_word
from demo.views.escape import sentence
from llm import LlmError, ModelPlan, NoProvider

TESTS_A_MINUTE = 20
"""Keys that a public page tests in a minute for all of its visitors."""
SHOWN_MODELS = 5
SHOWN = ("plan", "spending", "available-keys", "needs-model")
"""The parts that say who would answer."""

KeyAction = Literal["use", "test", "forget"]


class Panel:
    """Who answers the visitors of one page."""

    def __init__(self, host: SessionHost, clock: Callable[[], float] = time.monotonic) -> None:
        self._host = host
        self._tested = Rate(clock)

    # Whose visit it is.

    def known(self, visit: Visit) -> Visit:
        """The visit, with a word to know its visitor by where that is needed."""
        if is_word(visit["visitor"]) or not self._host.access.public:
            return visit
        return {**visit, "visitor": new_word()}

    def visitor(self, visit: Visit) -> str:
        """Whose runs, memory and keys are meant; on a public page never the owner's, and without a
        word those of somebody who was never here."""
        if not self._host.access.public:
            return OWNER
        return visitor_by(self.known(visit)["visitor"])

    async def owns(self, run: str, visit: Visit) -> bool:
        """Whether a run is this visitor's own: only they stop it, decide what it asks, and have it
        spend."""
        try:
            return (await self._host.session()).visitor(run) == self.visitor(visit)
        except KeyError:  # there is no such run
            return False

    # Who would answer.

    async def plan(self, visit: Visit) -> ModelPlan:
        """The plan of a run that the visitor starts now; raises `NoProvider`, `BadModelChoice`."""
        return (await self._host.session()).plan(
            self.visitor(visit), provider=visit["provider"] or None, model=visit["model"] or None,
            roles=chosen_roles(visit, public=self._host.access.public),
        )

    async def shown(self, visit: Visit, *typed: Typed) -> Update:
        """The plan, what it may cost for what is typed, and the keys at hand; raises
        `Unavailable`."""
        running = await self._host.running()
        session, visitor = running.session, self.visitor(visit)
        keys = plans.keys_html(session.models.available_keys(visitor))
        try:
            plan = await self.plan(visit)
        except (NoProvider, BadModelChoice) as error:
            missing = plans.missing_plan_html(str(error), running.jail)
            return {"plan": missing, "spending": "", "available-keys": keys, "needs-model": ""}
        cost = plans.cost_html(
            session.models.settings.caps, session.predicted(plan, "\n".join(filter(None, typed)))
        )
        doing = await session.models.local_status(plan, visitor)
        return {
            "plan": plans.chosen_plan_html(plan, running.jail, doing), "spending": cost,
            "available-keys": keys, "needs-model": "" if plan.of(GENERATOR) else plans.NEEDS_MODEL,
        }

    async def choose_models(self, visit: Visit, *typed: Typed) -> Update:
        """Keeps who is to answer, and shows what becomes of the plan; leaves a key that is being
        typed alone."""
        visit = self.known(visit)
        said = ""
        try:
            await self.plan(visit)
        except (NoProvider, BadModelChoice, Unavailable) as error:
            said = sentence(str(error))
        return await self._updated(visit, typed, said)

    # Keys.

    async def change_keys(
        self, visit: Visit, provider: Typed, key: Typed, *typed: Typed, action: KeyAction
    ) -> Update:
        """Takes a key into memory, asks its provider for models by it, or drops all keys; the
        field is emptied."""
        visit = self.known(visit)
        try:
            session = await self._host.session()
            session.came(self.visitor(visit), visit["address"])
            models = session.models
            if action == "forget":
                models.forget(self.visitor(visit))
                message = "The keys you gave are forgotten."
            elif action == "use":
                message = self._add_key(models, visit, provider or "", key or "")
            else:
                message = await self._test_key(models, visit, provider or "", key or "")
            said = sentence(message, "status")
        except (BadKey, Unavailable) as error:
            said = sentence(str(error))
        return {**await self._updated(visit, typed, said), "key": ""}

    def _add_key(self, models: Models, visit: Visit, name: str, key: str) -> str:
        variable = self._variable(name)
        if not key.strip():
            raise BadKey("There is no key yet: paste one.")
        models.add_key(self.visitor(visit), variable, key)
        return f"The key for {name} is used now. It is kept in memory only, until you forget it."

    async def _test_key(self, models: Models, visit: Visit, name: str, key: str) -> str:
        """What a provider answers to the visitor's key, the typed one if there is one."""
        if key.strip():
            self._add_key(models, visit, name, key)
        if self._variable(name) not in models.available_keys(self.visitor(visit)):
            raise BadKey(f"There is no key for {name} yet: paste one.")
        self._count_test()
        redactor = models.redactor()
        try:
            listed = await models.test_key(self.visitor(visit), name)
        except LlmError as error:
            raise BadKey(redactor.text(str(error))) from None
        first = ", ".join(listed[:SHOWN_MODELS])
        more = ", …" if len(listed) > SHOWN_MODELS else ""
        return redactor.text(
            f"The key is good: {name} lists {len(listed)} models. {first}{more}"
        )

    def _variable(self, name: str) -> str:
        variables = keyed(public=self._host.access.public)
        if name not in variables:
            raise BadKey(f"Choose whose key it is: {', '.join(variables)}.")
        return variables[name]

    def _count_test(self) -> None:
        """Bounds what a public page can be made to send to others."""
        if self._host.access.public and self._tested.full_for_s("", TESTS_A_MINUTE):
            raise BadKey("Many keys were tested here just now: try again in a minute.")
        self._tested.count("")

    async def _updated(self, visit: Visit, typed: tuple[Typed, ...], said: str) -> Update:
        try:
            shown = await self.shown(visit, *typed)
        except Unavailable:  # which is said already
            shown = dict.fromkeys(SHOWN, "")
        return {"visit": visit, "key-message": said, **shown}
