"""The programs that are healed to be measured."""

from __future__ import annotations

ONE_BUG = """\
def mean_of_positive(numbers):
    total = 0
    count = 0
    for number in numbers:
        if number > 0:
            total += number
            count += 1
    return total / len(numbers)
"""
ONE_BUG_TESTS = (
    "assert mean_of_positive([2, 4]) == 3\nassert mean_of_positive([2, -1, 4]) == 3"
)

TWO_BUGS = """\
def longest_run(text):
    best = 1
    current = 1
    for index in range(1, len(text) - 1):
        if text[index] == text[index - 1]:
            current += 1
        else:
            current = 0
        best = max(best, current)
    return best
"""
TWO_BUGS_TESTS = """\
assert longest_run('a') == 1
assert longest_run('abc') == 1
assert longest_run('abb') == 2
assert longest_run('aabbb') == 3
assert longest_run('abbbba') == 4
"""

HOPELESS = "def riddle(a, b):\n    total = a\n    if b > 3:\n        total += b\n    return total\n"
HOPELESS_TESTS = "assert riddle(1, 2) == 'no'\nassert riddle(3, 9) == [4, 'x']"

FILLING = """\
def level_{number}(start, days):
    level = start
    for day in range(days):
        if level > {number}:
            level -= day
        else:
            level += 2
    return level


"""
HUGE_FUNCTIONS = 1_100
HUGE = "".join(FILLING.format(number=number) for number in range(HUGE_FUNCTIONS)) + HOPELESS
"""Ten thousand lines, of which the last few are wrong."""

HEALTHY = "def double(number: int) -> int:\n    return number * 2\n"
HEALTHY_TESTS = "assert double(2) == 4"
