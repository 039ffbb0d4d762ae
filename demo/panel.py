"""Models and keys on the page: whose visit it is, who would answer, and their keys.

A key goes from its field to `Models.add_key` and nowhere else. On a page that only this machine
reaches every visitor is the owner, whose keys just work; on a public one each is told apart by a
random word that only their browser has.
"""

from __future__ import annotations

import secrets
import time
from collections import deque
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from agent.healing.models import OWNER, BadKey, visitor_of
from demo import place
from demo.host import Host, Session, Unavailable
from demo.kept import Typed, Visit, with_choices
from demo.render import alert, success
from demo.wanted import BadModelChoice, ModelChoice, keyed
from llm import LlmError, NoProvider, Plan

TESTS_A_MINUTE = 20
"""Keys that a public page tests in a minute for all of its visitors."""
SHOWN_MODELS = 5


class PanelView(NamedTuple):
    """What the page says of models, as HTML."""

    plan: str
    spending: str
    keys: str


class PanelUpdate(NamedTuple):
    """What an action changes: the visit, what the page says of models, and what came of the
    action. `key` empties its field."""

    visit: Visit
    plan: str
    spending: str
    keys: str
    said: str
    key: str = ""


class Panel:
    """Who answers the visitors of one page."""

    def __init__(self, host: Host, clock: Callable[[], float] = time.monotonic) -> None:
        self._host = host
        self._clock = clock
        self._tested: deque[float] = deque()

    # Whose visit it is.

    def known(self, visit: Visit) -> Visit:
        """The visit, with a word to know its visitor by where that is needed."""
        if visit["visitor"] or not self._host.door.public:
            return visit
        return {**visit, "visitor": secrets.token_urlsafe(24)}

    def visitor(self, visit: Visit) -> str:
        """Whose keys are used; on a public page never the owner's."""
        return visitor_of(f"page {visit['visitor']}") if self._host.door.public else OWNER

    def owns(self, session: Session, run: str, visit: Visit) -> bool:
        """Whether a run spends by this visitor's keys."""
        return session.visitor(run) == self.visitor(visit)

    # Who would answer.

    def plan(self, session: Session, visit: Visit) -> Plan:
        """The plan of a run that the visitor starts now; raises `NoProvider`, `BadModelChoice`."""
        wanted = ModelChoice(visit["provider"], visit["model"], visit["roles"])
        return session.plan(
            self.visitor(visit), provider=wanted.provider or None, model=wanted.model or None,
            roles=wanted.by_role(public=self._host.door.public),
        )

    async def shown(self, visit: Visit, *typed: Typed) -> PanelView:
        """The plan, what it may cost for what is typed, and the keys at hand; raises
        `Unavailable`."""
        running = await self._host.running()
        session = running.session
        keys = place.keys_html(session.models.available_keys(self.visitor(visit)))
        try:
            plan = self.plan(session, visit)
        except (NoProvider, BadModelChoice) as error:
            return PanelView(place.missing_plan_html(str(error), running.jail), "", keys)
        cost = place.cost_html(
            session.models.settings.caps, session.foreseen(plan, "\n".join(filter(None, typed)))
        )
        doing = await session.models.local_status(plan, self.visitor(visit))
        return PanelView(place.chosen_plan_html(plan, running.jail, doing), cost, keys)

    async def want(
        self, visit: Visit, provider: Typed, model: Typed, roles: Typed, *typed: Typed
    ) -> tuple[Visit, str, str, str, str]:
        """Keeps who is to answer, and shows what becomes of the plan; leaves a key that is being
        typed alone."""
        visit = with_choices(self.known(visit), provider, model, roles)
        said = ""
        try:
            self.plan(await self._host.session(), visit)
        except (NoProvider, BadModelChoice, Unavailable) as error:
            said = alert(str(error))
        return (await self._told(visit, typed, said))[:5]

    # Keys.

    async def use_key(
        self, visit: Visit, provider: Typed, model: Typed, roles: Typed,
        whose: Typed, key: Typed, *typed: Typed,
    ) -> PanelUpdate:
        """Takes a key into memory."""
        visit = with_choices(self.known(visit), provider, model, roles)
        return await self._acted(visit, typed, self._given(visit, whose or "", key or ""))

    async def test_key(
        self, visit: Visit, provider: Typed, model: Typed, roles: Typed,
        whose: Typed, key: Typed, *typed: Typed,
    ) -> PanelUpdate:
        """Asks a provider for its models by the visitor's key, the typed one if there is one."""
        visit = with_choices(self.known(visit), provider, model, roles)
        return await self._acted(visit, typed, self._tried(visit, whose or "", key or ""))

    async def forget_keys(
        self, visit: Visit, provider: Typed, model: Typed, roles: Typed,
        whose: Typed, key: Typed, *typed: Typed,
    ) -> PanelUpdate:
        """Drops what the visitor gave, and what stands in the field."""
        visit = with_choices(self.known(visit), provider, model, roles)
        return await self._acted(visit, typed, self._forgotten(visit))

    async def _acted(
        self, visit: Visit, typed: tuple[Typed, ...], action: Awaitable[str]
    ) -> PanelUpdate:
        """What the page says once an action with keys is done, or could not be."""
        try:
            said = success(await action)
        except (BadKey, Unavailable) as error:
            said = alert(str(error))
        return await self._told(visit, typed, said)

    async def _forgotten(self, visit: Visit) -> str:
        (await self._host.session()).models.forget(self.visitor(visit))
        return "The keys you gave are forgotten."

    async def _given(self, visit: Visit, name: str, key: str) -> str:
        variable = self._variable(name)
        if not key.strip():
            raise BadKey("There is no key yet: paste one.")
        session = await self._host.session()
        session.models.add_key(self.visitor(visit), variable, key)
        return f"The key for {name} is used now. It is kept in memory only, until you forget it."

    async def _tried(self, visit: Visit, name: str, key: str) -> str:
        if key.strip():
            await self._given(visit, name, key)
        variable = self._variable(name)
        models = (await self._host.session()).models
        if variable not in models.available_keys(self.visitor(visit)):
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
        variables = keyed(public=self._host.door.public)
        if name not in variables:
            raise BadKey(f"Choose whose key it is: {', '.join(variables)}.")
        return variables[name]

    def _count_test(self) -> None:
        """Bounds what a public page can be made to send to others."""
        now = self._clock()
        while self._tested and self._tested[0] <= now - 60:
            self._tested.popleft()
        if self._host.door.public and len(self._tested) >= TESTS_A_MINUTE:
            raise BadKey("Many keys were tested here just now: try again in a minute.")
        self._tested.append(now)

    async def _told(self, visit: Visit, typed: tuple[Typed, ...], said: str) -> PanelUpdate:
        try:
            shown = await self.shown(visit, *typed)
        except Unavailable:  # which is said already
            shown = PanelView("", "", "")
        return PanelUpdate(visit, *shown, said)
