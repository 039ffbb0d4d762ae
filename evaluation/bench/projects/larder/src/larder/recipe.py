"""Recipes and their text format.

The first line is the title; "serves: 4" and other "key: value" lines follow; after a blank line
comes one ingredient a line, and after the next blank line the method. Lines that start with "#"
are comments.
"""

import dataclasses
from fractions import Fraction

from larder.errors import BadRecipe
from larder.parsing import parse_line


@dataclasses.dataclass(frozen=True)
class Ingredient:
    """Something to put in; an amount of None means "some"."""

    name: str
    amount: Fraction | None = None
    unit: str = "piece"
    note: str = ""

    @classmethod
    def from_line(cls, line):
        """The ingredient that a line describes."""
        amount, unit, name, note = parse_line(line)
        return cls(name, amount, unit, note)

    def scaled(self, factor):
        """The same ingredient, `factor` times as much."""
        if self.amount is None:
            return self
        return dataclasses.replace(self, amount=self.amount * factor)


@dataclasses.dataclass
class Recipe:
    """A title, ingredients and a method for a number of people."""

    title: str
    serves: int = 1
    ingredients: list[Ingredient] = dataclasses.field(default_factory=list)
    method: list[str] = dataclasses.field(default_factory=list)
    tags: frozenset = frozenset()

    def for_people(self, people):
        """The recipe scaled to a number of people."""
        if people < 1:
            raise ValueError("a recipe is for at least one person")
        factor = Fraction(people, self.serves)
        scaled = [ingredient.scaled(factor) for ingredient in self.ingredients]
        return dataclasses.replace(self, serves=people, ingredients=scaled)


def blocks(text):
    """Yield blocks of (line number, line), split at blank lines, comments left out."""
    block = []
    for position, line in enumerate(text.splitlines(), start=1):
        if line.lstrip().startswith("#"):
            continue
        if line.strip():
            block.append((position, line.strip()))
        elif block:
            yield block
            block = []
    if block:
        yield block


def load(text):
    """Read a recipe; raises BadRecipe with the line."""
    parts = list(blocks(text))
    if not parts:
        raise BadRecipe("the recipe is empty")
    head, *others = parts
    recipe = Recipe(title=head[0][1])
    for position, line in head[1:]:
        key, colon, value = line.partition(":")
        if not colon:
            raise BadRecipe(f"expected 'key: value', got {line!r}", position)
        set_key(recipe, key.strip().lower(), value.strip(), position)
    if others:
        recipe.ingredients = [Ingredient.from_line(line) for _, line in others[0]]
    recipe.method = [line for block in others[1:] for _, line in block]
    return recipe


def set_key(recipe, key, value, position):
    """Set what a line of the head says; raises BadRecipe."""
    if key == "serves":
        if not value.isdigit() or int(value) == 0:
            raise BadRecipe(f"serves must be a number, got {value!r}", position)
        recipe.serves = int(value)
    elif key == "tags":
        recipe.tags = frozenset(tag.strip().lower() for tag in value.split(",") if tag.strip())
    else:
        raise BadRecipe(f"unknown key {key!r}", position)
