"""Scale recipes and turn them into shopping lists."""

from larder.errors import LarderError
from larder.parsing import parse_line
from larder.recipe import Ingredient, Recipe, load
from larder.shopping import shopping_list

__all__ = ["Ingredient", "LarderError", "Recipe", "load", "parse_line", "shopping_list"]
