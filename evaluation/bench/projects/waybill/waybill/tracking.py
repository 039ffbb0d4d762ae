"""Tracking numbers and what carriers report on them."""

import re
import time

from .errors import ServiceDown, WaybillError

NUMBER = re.compile(r"^([A-Z]{2})[ -]?(\d{8})(\d)[ -]?([A-Z]{2})$")
WEIGHTS = (8, 6, 4, 2, 3, 5, 9, 7)

#: what carriers call it -> what we call it
STATES = {
    "PICKED_UP": "on its way",
    "IN_TRANSIT": "on its way",
    "OUT_FOR_DELIVERY": "near",
    "DELIVERED": "delivered",
    "PICKUP_READY": "waiting",
    "RETURNED": "back",
}
FINAL = {"delivered", "back"}


def check_digit(digits):
    """The check digit of eight digits."""
    rest = 11 - sum(int(digit) * weight for digit, weight in zip(digits, WEIGHTS)) % 11
    return {10: 0, 11: 5}.get(rest, rest)


def normal(number):
    """A tracking number without blanks; raises WaybillError where it is wrong."""
    found = NUMBER.match(number.strip().upper())
    if not found:
        raise WaybillError(f"not a tracking number: {number}")
    service, digits, check, country = found.groups()
    if check_digit(digits) != int(check):
        raise WaybillError(f"wrong check digit: {number}")
    return f"{service}{digits}{check}{country}"


def history(events):
    """Yield (time, state) in order of time, repeated states once, unknown ones as they are."""
    last = None
    for moment, word in sorted(events):
        state = STATES.get(word.upper().replace(" ", "_"), word.lower())
        if state != last:
            yield moment, state
        last = state


def wait(fetch, number, tries=3, pause_s=1.0):
    """The history of a number; `fetch` is asked again while it raises ServiceDown."""
    number = normal(number)
    for attempt in range(tries):
        try:
            return list(history(fetch(number)))
        except ServiceDown:
            if attempt + 1 == tries:
                raise
            time.sleep(pause_s * 2**attempt)


def is_over(steps):
    """Whether a history has come to its end."""
    return bool(steps) and steps[-1][1] in FINAL
