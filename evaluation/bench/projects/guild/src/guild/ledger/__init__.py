"""The accounts of a guild: money, entries, and the statement of a year."""

from guild.ledger.book import Book, Unbalanced
from guild.ledger.money import Money, money

__all__ = ["Book", "Money", "Unbalanced", "money"]
