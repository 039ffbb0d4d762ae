"""Days on which the house is open."""

import calendar
import datetime
import functools

#: days that are closed every year: (month, day) -> why
FIXED = {
    (1, 1): "new year",
    (5, 1): "labour day",
    (10, 3): "unity day",
    (12, 24): "christmas eve",
    (12, 25): "christmas",
    (12, 26): "boxing day",
    (12, 31): "new year's eve",
}
#: days that hang on easter: days after it -> why
MOVING = {-2: "good friday", 0: "easter", 1: "easter monday", 39: "ascension", 50: "whit monday"}

WEEKLY_REST = calendar.MONDAY


@functools.lru_cache(maxsize=64)
def easter(year):
    """Easter Sunday, by the rule of Gauss as Lichtenberg put it."""
    k = year // 100
    m = 15 + (3 * k + 3) // 4 - (8 * k + 13) // 25
    s = 2 - (3 * k + 3) // 4
    a = year % 19
    d = (19 * a + m) % 30
    r = (d + a // 11) // 29
    og = 21 + d - r
    sz = 7 - (year + year // 4 + s) % 7
    oe = 7 - (og - sz) % 7
    return datetime.date(year, 3, 1) + datetime.timedelta(days=og + oe - 1)


def closed(day):
    """Why the house is closed on a day, or "" where it is open."""
    reason = FIXED.get((day.month, day.day)) or MOVING.get((day - easter(day.year)).days)
    if reason:
        return reason
    if day.weekday() == WEEKLY_REST:
        return "rest"
    return ""


def month_days(month):
    """Yield the open days of a month that is written "2024-05"."""
    year, number = map(int, month.split("-"))
    for day in range(1, calendar.monthrange(year, number)[1] + 1):
        date = datetime.date(year, number, day)
        if not closed(date):
            yield date


def following(day):
    """The next open day after a day."""
    day += datetime.timedelta(days=1)
    while closed(day):
        day += datetime.timedelta(days=1)
    return day
