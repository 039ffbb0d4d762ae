"""Which calls a repair no longer makes."""

import pytest

from agent.repair.dropped import dropped_calls

SAVE = "def save(user, store):\n    check(user)\n    store[user] = 1\n    return len(store)\n"


@pytest.mark.parametrize(("before", "after", "dropped"), [
    (SAVE, SAVE.replace("    check(user)\n", ""), ("check",)),
    (SAVE, SAVE.replace("check(user)", "user.strip()"), ("check",)),
    (SAVE, SAVE.replace("check(user)", "chek(user)"), ()),
    (SAVE, SAVE.replace("check(user)", "check(store)"), ()),
    (SAVE, SAVE.replace("store[user] = 1", "store[user] = 2"), ()),
    ("def send(out, text):\n    out.write(seal(text))\n",
     "def send(out, text):\n    out.write(text)\n", ("seal",)),
    ("log = []\ndef add(n):\n    log.append(n)\n    return n\n",
     "log = []\ndef add(n):\n    return n\n", ("log.append",)),
    ("def squares(n):\n    out = []\n    out.append(0)\n    return out\n",
     "def squares(n):\n    out = []\n    return out\n", ()),
    ("def fib(n):\n    return fib(n - 1) + fib(n - 2)\n",
     "def fib(n):\n    return fib(n - 1)\n", ()),
    ("def f(n):\n    return sorted(n)\n", "def f(n):\n    return n\n", ()),
    ("app.run()\n", "pass\n", ("app.run",)),
    ("async def f(q):\n    await q.put(1)\n", "async def f(q):\n    pass\n", ("q.put",)),
    ("open_all()" + ".next()" * 390 + "\n", "pass\n", ("open_all" + ".next" * 390, "open_all")),
    ("broken(:\n", "fixed()\n", ()),
])
def test_a_call_that_no_answer_shows_is_missed(
    before: str, after: str, dropped: tuple[str, ...]
) -> None:
    assert dropped_calls(before, after) == dropped
