"""The command line: `larder list FILE... [--people N]`, `larder convert 2 cups flour g`."""

import argparse
import pathlib
import sys

from larder import densities, parsing, units
from larder.errors import LarderError
from larder.recipe import load
from larder.shopping import plain, readable, shopping_list


def parser():
    """The argument parser."""
    top = argparse.ArgumentParser(prog="larder")
    commands = top.add_subparsers(dest="command", required=True)
    listing = commands.add_parser("list", help="print what to buy")
    listing.add_argument("files", nargs="+", type=pathlib.Path)
    listing.add_argument("--people", type=int)
    listing.add_argument("--staples", action="store_true")
    conversion = commands.add_parser("convert", help="convert one amount")
    conversion.add_argument("amount", nargs="+")
    conversion.add_argument("unit")
    return top


def print_list(arguments):
    """Print the shopping list of the given files."""
    recipes = [load(path.read_text("utf-8")) for path in arguments.files]
    if arguments.people:
        recipes = [recipe.for_people(arguments.people) for recipe in recipes]
    for name, entries in shopping_list(recipes, keep_staples=arguments.staples).items():
        print(f"{name}: " + " + ".join(readable(amount, unit) for amount, unit in entries))


def print_conversion(arguments):
    """Print one amount in another unit."""
    amount, unit, name, _ = parsing.parse_line(" ".join(arguments.amount))
    result = units.convert(amount, unit, arguments.unit, densities.density(name))
    print(f"{plain(result)} {units.canonical(arguments.unit)}")


def main(argv=None):
    """Run the command line; returns the exit status."""
    arguments = parser().parse_args(argv)
    try:
        if arguments.command == "list":
            print_list(arguments)
        else:
            print_conversion(arguments)
    except (LarderError, OSError) as error:
        print(f"larder: {error}", file=sys.stderr)
        return 1
    return 0
