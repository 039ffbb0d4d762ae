"""The panel for models and keys: identifies visitors, shows the models and manages keys.

A key goes from its field to `Models.add_key` and nowhere else. On a local page every visitor is the
owner, whose keys are used; on a public page each visitor is identified by a random token that only
their browser has.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Literal

from agent.core.settings import GENERATOR
from agent.iteration.models import LOCAL_USER, BadKey, Models
from demo.browser_state import Typed, Update, Visit
from demo.models import plans
from demo.models.choice import BadModelChoice, chosen_roles, keyed
from demo.serving.host import SessionHost, Unavailable, visitor_by
from demo.serving.limits import Rate
from demo.serving.visitors import is_token, new_token
from demo.views.escape import sentence
from llm import LlmError, ModelPlan, NoProvider

TESTS_A_MINUTE = 20
"""Maximum key tests per minute on a public page, for all visitors together."""
SHOWN_MODELS = 5
MODEL_PARTS = ("plan", "spending", "available-keys", "needs-model")
"""The parts that show which models a run would use."""

KeyAction = Literal["use", "test", "forget"]


class Panel:
    """The models and keys of the visitors of one page."""

    def __init__(self, host: SessionHost, clock: Callable[[], float] = time.monotonic) -> None:
        self._host = host
        self._tested = Rate(clock)

    def known(self, visit: Visit) -> Visit:
        """Adds a token to a visit of a public page that has none."""
        if is_token(visit["visitor"]) or not self._host.access.public:
            return visit
        return {**visit, "visitor": new_token()}

    def visitor(self, visit: Visit) -> str:
        """Returns the owner id of the visitor's runs, memory and keys. On a public page it is never
        the owner, and without a token it is a new visitor."""
        if not self._host.access.public:
            return LOCAL_USER
        return visitor_by(self.known(visit)["visitor"])

    async def owns(self, run: str, visit: Visit) -> bool:
        """Whether this visitor started a run and may stop, answer and continue it."""
        try:
            return (await self._host.session()).visitor(run) == self.visitor(visit)
        except KeyError:  # there is no such run
            return False

    async def plan(self, visit: Visit) -> ModelPlan:
        """Returns the models for a run of this visitor. Raises `NoProvider`, `BadModelChoice`."""
        return (await self._host.session()).plan(
            self.visitor(visit), provider=visit["provider"] or None, model=visit["model"] or None,
            roles=chosen_roles(visit, public=self._host.access.public),
        )

    async def shown(self, visit: Visit, *typed: Typed) -> Update:
        """Shows the models, the predicted cost for the typed input, and the available keys. Raises:
        Unavailable."""
        running = await self._host.running()
        session, visitor = running.session, self.visitor(visit)
        keys = plans.keys_html(session.models.available_keys(visitor))
        try:
            plan = await self.plan(visit)
        except (NoProvider, BadModelChoice) as error:
            missing = plans.missing_plan_html(str(error), running.jail)
            return {"plan": missing, "spending": "", "available-keys": keys, "needs-model": ""}
        estimates = session.estimate_costs(plan, "\n".join(filter(None, typed)))
        cost = plans.cost_html(session.models.settings.caps, estimates)
        doing = await session.models.local_status(plan, visitor)
        return {
            "plan": plans.chosen_plan_html(plan, running.jail, doing), "spending": cost,
            "available-keys": keys, "needs-model": "" if plan.of(GENERATOR) else plans.NEEDS_MODEL,
        }

    async def choose_models(self, visit: Visit, *typed: Typed) -> Update:
        """Saves the visitor's choice of models and shows the result. A key that is being typed does
        not change."""
        visit = self.known(visit)
        message = ""
        try:
            await self.plan(visit)
        except (NoProvider, BadModelChoice, Unavailable) as error:
            message = sentence(str(error))
        return await self._updated(visit, typed, message)

    async def change_keys(
        self, visit: Visit, provider: Typed, key: Typed, *typed: Typed, action: KeyAction
    ) -> Update:
        """Adds a key, tests it by listing the provider's models, or deletes all keys; clears the
        field."""
        visit = self.known(visit)
        try:
            session = await self._host.session()
            session.record_address(self.visitor(visit), visit["address"])
            models = session.models
            if action == "forget":
                models.forget(self.visitor(visit))
                message = "Your keys were deleted."
            elif action == "use":
                message = self._add_key(models, visit, provider or "", key or "")
            else:
                message = await self._test_key(models, visit, provider or "", key or "")
            shown = sentence(message, "status")
        except (BadKey, Unavailable) as error:
            shown = sentence(str(error))
        return {**await self._updated(visit, typed, shown), "key": ""}

    def _add_key(self, models: Models, visit: Visit, name: str, key: str) -> str:
        variable = self._variable(name)
        if not key.strip():
            raise BadKey("The key is empty. Paste one.")
        models.add_key(self.visitor(visit), variable, key)
        return f"The key for {name} is now used. It stays in memory only, until you delete it."

    async def _test_key(self, models: Models, visit: Visit, name: str, key: str) -> str:
        if key.strip():
            self._add_key(models, visit, name, key)
        if self._variable(name) not in models.available_keys(self.visitor(visit)):
            raise BadKey(f"There is no key for {name}. Paste one.")
        self._count_test()
        redactor = models.redactor()
        try:
            listed = await models.test_key(self.visitor(visit), name)
        except LlmError as error:
            raise BadKey(redactor.text(str(error))) from None
        first = ", ".join(listed[:SHOWN_MODELS])
        more = ", …" if len(listed) > SHOWN_MODELS else ""
        return redactor.text(f"The key works: {name} lists {len(listed)} models. {first}{more}")

    def _variable(self, name: str) -> str:
        variables = keyed(public=self._host.access.public)
        if name not in variables:
            raise BadKey(f"Choose the provider of the key: {', '.join(variables)}.")
        return variables[name]

    def _count_test(self) -> None:
        if self._host.access.public and self._tested.seconds_until_free("", TESTS_A_MINUTE):
            raise BadKey("Too many keys were tested in the last minute. Try again in a minute.")
        self._tested.count("")

    async def _updated(self, visit: Visit, typed: tuple[Typed, ...], message: str) -> Update:
        try:
            shown = await self.shown(visit, *typed)
        except Unavailable:  # the message says so already
            shown = dict.fromkeys(MODEL_PARTS, "")
        return {"visit": visit, "key-message": message, **shown}
