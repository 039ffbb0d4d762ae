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

MERGE = """\
def merge(left, right):
    merged = []
    i = 0
    j = 0
    while i < len(left) and j < len(right):
        if left[i] <= right[j]:
            merged.append(left[i])
        else:
            merged.append(right[j])
            j += 1
    while i < len(left):
        merged.append(left[i])
        i += 1
    while j < len(right):
        merged.append(right[j])
    return merged
"""
MERGE_TESTS = """\
assert merge([1, 3, 5], [2, 4, 6]) == [1, 2, 3, 4, 5, 6]
assert merge([], [1, 2]) == [1, 2]
assert merge([1], []) == [1]
assert merge([2, 9], [1, 3, 7, 8]) == [1, 2, 3, 7, 8, 9]
"""

FIND = """\
def find(values, wanted):
    low = 0
    high = len(values)
    while low <= high:
        middle = (low + high) // 2
        if values[middle] == wanted:
            return middle
        if values[middle] < wanted:
            low = middle
        else:
            high = middle
    return None
"""
FIND_TESTS = """\
assert find([1, 3, 5, 7], 3) == 1
assert find([1, 3, 5, 7], 7) == 3
assert find([1, 3, 5, 7], 4) == -1
assert find([], 4) == -1
"""

COLLATZ = """\
def steps(number):
    count = 0
    while number != 1:
        if number % 2 == 0:
            number = number // 2
        else:
            number = 3 * number + 2
        count += 2
    return count
"""
COLLATZ_TESTS = "assert steps(1) == 0\nassert steps(6) == 8\nassert steps(7) == 16\n"

INSERTED = """\
def merge(left, right):
    merged = []
    for value in left:
        merged.append(value)
    for value in right:
        place = 0
        for other in merged:
            if other > value:
                place += 2
        merged.insert(place - 1, value)
    return merged
"""

WITH_WHILE = {
    "merge": (MERGE, MERGE_TESTS), "find": (FIND, FIND_TESTS), "collatz": (COLLATZ, COLLATZ_TESTS),
}
"""Programs most of whose edits leave a loop that never ends."""
WITHOUT_WHILE = {
    "mean": (ONE_BUG, ONE_BUG_TESTS), "run": (TWO_BUGS, TWO_BUGS_TESTS),
    "insert": (INSERTED, MERGE_TESTS),
}
"""Programs whose edits all end."""

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
