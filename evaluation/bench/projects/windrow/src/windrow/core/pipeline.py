"""A pipeline: steps one after another, written as "plausible | smooth width=3 | hourly"."""

import re

from .errors import BadSpec
from .registry import STEPS

WORD = re.compile(r"""([\w-]+)=("[^"]*"|\S+)""")


class Pipeline:
    """Steps; each turns an iterable of readings into another."""

    def __init__(self, steps=()):
        self.steps = list(steps)

    @classmethod
    def parse(cls, spec):
        """The pipeline that a text describes; raises BadSpec."""
        steps = []
        for part in split_bars(spec):
            name, _, rest = part.strip().partition(" ")
            if not name:
                raise BadSpec("a step is empty")
            steps.append(STEPS.make(name, arguments(rest)))
        return cls(steps)

    def __call__(self, readings):
        """All readings that come out at the end, lazily."""
        for step in self.steps:
            readings = step(readings)
        return iter(readings)

    def __or__(self, other):
        """This pipeline followed by another, or by one step."""
        return Pipeline(self.steps + (other.steps if isinstance(other, Pipeline) else [other]))


def split_bars(spec):
    """Split at bars that are not inside quotes."""
    return re.split(r"""\|(?=(?:[^"]*"[^"]*")*[^"]*$)""", spec) if spec.strip() else []


def arguments(text):
    """Key -> value of a step's written arguments."""
    found = {key.replace("-", "_"): value.strip('"') for key, value in WORD.findall(text)}
    rest = WORD.sub("", text).strip()
    if rest:
        raise BadSpec(f"cannot read {rest!r}")
    return found
