"""Double entry in a text file.

    2024-03-01 Rent for the hall
        costs:hall     120.00 EUR
        bank                          what is left out balances the entry
"""

import collections
import datetime
import re
from typing import NamedTuple

from guild.ledger.money import Money, money

HEAD = re.compile(r"^(\d{4}-\d{2}-\d{2})\s+(?:(!)\s+)?(.+?)(?:\s*;.*)?$")
LINE = re.compile(r"^\s+([\w:&-]+(?: [\w:&-]+)*)(?:\s{2,}([^;]+?))?\s*(?:;.*)?$")

#: first part of an account -> which side it grows on
KINDS = {"bank": 1, "cash": 1, "costs": 1, "debts": -1, "income": -1, "own": -1, "claims": 1}


class Unbalanced(ValueError):
    """An entry's amounts do not add up to nothing."""


class Entry(NamedTuple):
    """Amounts moved between accounts on a day."""

    day: datetime.date
    text: str
    amounts: tuple
    pending: bool = False


class Book:
    """Entries in order of day."""

    def __init__(self, entries=()):
        self.entries = sorted(entries, key=lambda entry: entry.day)

    @classmethod
    def read(cls, text):
        """The book of a text; raises Unbalanced and ValueError."""
        entries, head, amounts = [], None, []
        for line in [*text.splitlines(), ""]:
            if not line.strip():
                if head:
                    entries.append(finished(head, amounts))
                head, amounts = None, []
            elif line.lstrip().startswith(";"):
                continue
            elif found := HEAD.match(line):
                if head:
                    entries.append(finished(head, amounts))
                head, amounts = found, []
            elif head and (found := LINE.match(line)):
                account, amount = found.groups()
                if account.partition(":")[0] not in KINDS:
                    raise ValueError(f"no such account: {account}")
                amounts.append((account, money(amount) if amount else None))
            else:
                raise ValueError(f"cannot read {line.strip()!r}")
        return cls(entries)

    def balance(self, account, until=None, pending=True):
        """The sum of an account and those below it, on the side it grows on."""
        sums = collections.defaultdict(int)
        for entry in self.entries:
            if until and entry.day > until:
                break
            if entry.pending and not pending:
                continue
            for name, amount in entry.amounts:
                if name == account or name.startswith(account + ":"):
                    sums[amount.currency] += amount.cents
        side = KINDS[account.partition(":")[0]]
        return [Money(side * cents, currency) for currency, cents in sorted(sums.items())]

    def register(self, account):
        """Yield (day, text, amount, sum so far) of one account."""
        sums = {}
        for entry in self.entries:
            for name, amount in entry.amounts:
                if name == account:
                    sums[amount.currency] = sums.get(amount.currency, Money(0, amount.currency)) + amount
                    yield entry.day, entry.text, amount, sums[amount.currency]

    def statement(self, year):
        """Income and costs of a year: account -> amount, and the surplus under ""."""
        rows = collections.Counter()
        for entry in self.entries:
            if entry.day.year != year or entry.pending:
                continue
            for name, amount in entry.amounts:
                if name.startswith(("income", "costs")) and amount.currency == "EUR":
                    rows[name] -= amount.cents
        rows[""] = sum(rows.values())
        return {name: Money(cents) for name, cents in sorted(rows.items())}


def finished(head, amounts):
    """The entry of its lines; one amount may be missing and is what balances the others."""
    day, mark, text = head.groups()
    sums = collections.defaultdict(int)
    for _, amount in amounts:
        if amount is not None:
            sums[amount.currency] += amount.cents
    open_sums = {currency: cents for currency, cents in sums.items() if cents}
    missing = [account for account, amount in amounts if amount is None]
    if len(missing) > 1 or (open_sums and not missing):
        raise Unbalanced(f"{day} {text}: {len(missing)} amounts are missing")
    kept = [(account, amount) for account, amount in amounts if amount is not None]
    kept += [(account, Money(-cents, currency)) for account in missing for currency, cents in open_sums.items()]
    return Entry(datetime.date.fromisoformat(day), text, tuple(kept), bool(mark))
