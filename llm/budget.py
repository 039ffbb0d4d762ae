"""The budget of a run for model calls, and the ledger of what it has spent.

Before a call its maximum cost is reserved; afterwards the actual cost replaces it. So a cap can
only be exceeded if a provider reports a wrong token count.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace

from llm.errors import OverBudget
from llm.types import Usage


@dataclass(frozen=True)
class Caps:
    """Spending limits; `None` is unlimited."""

    usd: float | None = None
    tokens: int | None = None
    calls: int | None = None
    seconds: float | None = None
    """Wall seconds spent waiting for models."""

    def more(self, other: Caps) -> Caps:
        """These caps plus others."""
        return Caps(
            *(
                mine if mine is None or extra is None else mine + extra
                for mine, extra in zip(self.values, other.values, strict=True)
            )  # type: ignore[arg-type]  # each field keeps its type
        )

    @property
    def values(self) -> tuple[float | int | None, ...]:
        return (self.usd, self.tokens, self.calls, self.seconds)


@dataclass(frozen=True)
class Spent:
    """The total cost of calls. Calls of unknown price are counted in tokens only."""

    usd: float = 0.0
    tokens: int = 0
    calls: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class Charge:
    """The ledger entry of one call."""

    id: int
    role: str
    amount: Spent
    open: bool = True
    """Whether the call has not ended, so that the amount is its maximum."""


@dataclass
class Ledger:
    """The spending of one run; used from one event loop."""

    run: Caps
    roles: Mapping[str, Caps] = field(default_factory=dict)
    charges: list[Charge] = field(default_factory=list)

    def spent(self, role: str | None = None) -> Spent:
        """The charges of a role, or of all roles."""
        usd, tokens, calls, seconds = 0.0, 0, 0, 0.0
        for charge in self.charges:
            if role is None or charge.role == role:
                amount = charge.amount
                usd += amount.usd
                tokens += amount.tokens
                calls += amount.calls
                seconds += amount.seconds
        return Spent(usd, tokens, calls, seconds)

    def reserve(
        self, role: str, *, question: int, answer: int, usd: float | None, what: str
    ) -> Charge:
        """Reserves the maximum cost of a call; raises `OverBudget` if it would exceed a cap.

        Args:
            question: The tokens of the request.
            answer: The maximum tokens of the answer.
            usd: The maximum dollars; `None` for an unknown price, which needs a token cap.
            what: The name of the model.
        """
        wanted = Spent(usd or 0.0, question + answer, 1)
        for owner, caps, _ in self._applicable_caps(role):
            bounded = caps.tokens is not None or self.run.tokens is not None
            if usd is None and caps.usd is not None and not (bounded and caps.usd):
                raise OverBudget(
                    f"The price of {what} is unknown, so a cap in dollars cannot bound it: add it "
                    "to the price table, or set a cap above $0 and a token cap.", f"{owner} price",
                )
        self._require_within_caps(role, wanted, what)
        charge = Charge(len(self.charges), role, wanted)
        self.charges.append(charge)
        return charge

    def charge_retry(self, charge: Charge, what: str) -> Charge:
        """Charges a retry, which counts as one more call. Raises `OverBudget`."""
        self._require_within_caps(charge.role, Spent(calls=1), what)
        amount = replace(charge.amount, calls=charge.amount.calls + 1)
        self.charges[charge.id] = replace(charge, amount=amount)
        return self.charges[charge.id]

    def _applicable_caps(self, role: str) -> tuple[tuple[str, Caps, Spent], ...]:
        """The name, caps and spending of the run and of a role."""
        own = self.roles.get(role, Caps())
        return ("run", self.run, self.spent()), (role, own, self.spent(role))

    def _require_within_caps(self, role: str, wanted: Spent, what: str) -> None:
        """Raises `OverBudget` if a cap would be exceeded."""
        for owner, caps, used in self._applicable_caps(role):
            for name, cap, need, shown in (
                ("calls", caps.calls, used.calls + wanted.calls, _count),
                ("tokens", caps.tokens, used.tokens + wanted.tokens, _count),
                ("usd", caps.usd, used.usd + wanted.usd, _dollars),
            ):
                if cap is not None and need > cap + 1e-12:
                    raise OverBudget(
                        f"{what} is not called as {role}: the {owner}'s cap of {shown(cap)} "
                        f"{'' if name == 'usd' else f'{name} '}"
                        f"would be exceeded ({shown(need)} including the maximum of this call)",
                        f"{owner} {name}", need - cap,
                    )
            if caps.seconds is not None and used.seconds >= caps.seconds:
                raise OverBudget(
                    f"{what} is not called as {role}: the {owner}'s {caps.seconds:g} seconds of "
                    "waiting for models are used up", f"{owner} seconds",
                )

    def seconds_left(self, role: str) -> float | None:
        """The remaining seconds for calls of a role; `None` is unlimited."""
        left = [
            caps.seconds - used.seconds
            for _, caps, used in self._applicable_caps(role)
            if caps.seconds is not None
        ]
        return min(left, default=None)

    def settle(self, charge: Charge, usage: Usage, usd: float | None, seconds: float) -> None:
        """Replaces the reserved amount by the actual one. Negative values count as 0."""
        amount = Spent(max(usd or 0.0, 0.0), max(usage.total, 0), charge.amount.calls, seconds)
        self.charges[charge.id] = replace(charge, amount=amount, open=False)


def _count(number: float) -> str:
    return f"{number:,.0f}"


def _dollars(number: float) -> str:
    return f"${number:.2f}" if number >= 0.01 else f"${number:.4f}"


def parse_role_caps(text: str, roles: Callable[[str], bool]) -> dict[str, Caps]:
    """Parses caps by role such as `critic.calls=2, debugger.usd=0.10`; raises `ValueError`."""
    found: dict[str, Caps] = {}
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        name, _, number = part.partition("=")
        role, _, unit = name.strip().partition(".")
        if not roles(role):
            raise ValueError(f"{role!r} is not a role such as critic or debugger")
        try:
            value = float(number) if unit in ("usd", "seconds") else int(number)
        except ValueError:
            raise ValueError(f"{part!r}: write it as critic.calls=2") from None
        if unit not in ("usd", "tokens", "calls", "seconds") or not 0 <= value < float("inf"):
            raise ValueError(f"{part!r}: a cap is in usd, tokens, calls or seconds, 0 or more")
        found[role] = Caps(**{**asdict(found.get(role, Caps())), unit: value})
    return found
