"""Functions that rules can call."""

import datetime

from sieve.errors import UnknownName, Unfit

FUNCTIONS = {}


def function(*names, least=1, most=1):
    """Register a function under its names, with the number of arguments it takes."""

    def register(body):
        for name in names:
            FUNCTIONS[name] = (body, least, most)
        return body

    return register


def call(name, values):
    """Call a registered function; raises UnknownName, Unfit."""
    if name not in FUNCTIONS:
        close = sorted(one for one in FUNCTIONS if one[:2] == name[:2])
        raise UnknownName(f"no function {name}" + (f", but {', '.join(close)}" if close else ""))
    body, least, most = FUNCTIONS[name]
    if not least <= len(values) <= most:
        raise Unfit(f"{name} takes {least} to {most} values, got {len(values)}")
    return body(*values)


@function("length", "len")
def length(value):
    """The length of a text or list; of nothing it is zero."""
    return 0 if value is None else len(value)


@function("lower")
def lower(value):
    """Small letters."""
    return str(value).casefold()


@function("words", least=1, most=2)
def words(value, separator=None):
    """The words of a text."""
    return [word.strip() for word in str(value).split(separator)]


@function("first", least=1, most=2)
def first(value, default=None):
    """The first item of a list, or the default."""
    return next(iter(value or ()), default)


@function("days", most=2)
def days(since, until=None):
    """Days between two dates, or until today."""
    return ((until or datetime.date.today()) - since).days


@function("round", most=2)
def rounded(value, digits=0):
    """Round half away from zero, as people do."""
    scale = 10**digits
    size = int(abs(value) * scale + 0.5) / scale
    return -size if value < 0 else size


@function("any", "some", most=99)
def some(*values):
    """Whether one of the values is true."""
    return any(values)
