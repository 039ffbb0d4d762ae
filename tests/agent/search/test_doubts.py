"""Signs of a wrong repair: dropped calls, unused names, risky calls and dead code."""

from __future__ import annotations

import pytest

from agent.search.inspection.dead_code import without_dead_code
from agent.search.inspection.doubts import dropped_calls, ignored_fields, unread_names
from agent.search.inspection.risky import risks

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
    ("s = set()\ndef f(n):\n    s.add(n)\n", "def f(n):\n    s = set()\n    s.add(n)\n", ()),
    ("async def f(q):\n    await q.put(1)\n", "async def f(q):\n    pass\n", ("q.put",)),
    ("open_all()" + ".next()" * 390 + "\n", "pass\n", ("open_all" + ".next" * 390, "open_all")),
    ("broken(:\n", "fixed()\n", ()),
])
def test_an_unused_call_is_missed(before: str, after: str, dropped: tuple[str, ...]) -> None:
    assert dropped_calls(before, after) == dropped


USER = """class User:
    def __init__(self, name, admin=False):
        self.name = name
        self.admin = True

    def may(self):
        return self.admin
"""


def changed(text: str) -> tuple[str, ...]:
    return unread_names("", text)


def test_unused_names_are_found() -> None:
    assert unread_names(USER.replace("return", "return not"), USER) == ("admin",)
    assert unread_names(USER, USER) == ()
    assert changed(USER.replace("True", "admin")) == ()

    text = "def f(xs):\n    best = xs[0]\n    best += 1\n    return xs\n"
    assert changed(text) == ("best",)
    assert changed(text.replace("return xs", "return lambda: best")) == ()
    assert changed(text.replace("    best =", "    global best\n    best =")) == ()

    text = "def f(n):\n    def is_even(k):\n        return k % 2 == 0\n    return n > 1\n"
    assert changed(text) == ("is_even",)
    assert changed(text.replace("n > 1", "n > 1 and is_even(n)")) == ()

    assert changed("def f(:") == ()


def test_prescribed_parameters_are_left_out() -> None:
    assert changed("@route\ndef f(request):\n    return 1\n") == ()
    assert changed("def f(_context):\n    return 1\n") == ()
    assert changed("def f(a):\n    raise NotImplementedError\n") == ()
    assert changed("class A(B):\n    def f(self, event):\n        return 1\n") == ()
    assert changed("class A:\n    def __exit__(self, *a, b=1):\n        return 1\n") == ()
    assert changed("def f(a):\n    return eval('a')\n") == ()


CONTACT = """
@dataclass
class Contact:
    name: str
    address: str = ""

    def __lt__(self, other):
        return (self.name, self.address) < (other.name, other.address)
"""


def test_a_field_that_is_no_longer_compared_is_found() -> None:
    excluded = CONTACT.replace('str = ""', 'str = field(default="", compare=False)')
    by_name = CONTACT.replace("self.name, self.address", "self.name").replace(
        "other.name, other.address", "other.name"
    )
    assert ignored_fields(CONTACT, excluded) == ("address",)
    assert ignored_fields(CONTACT, by_name) == ("address",)
    assert ignored_fields(by_name, CONTACT) == ignored_fields(CONTACT, CONTACT) == ()


RISKY = """\
import subprocess as sp
from os import system as run
import pickle


def f(text, frame):
    run(text)
    sp.run(text, shell=True)
    sp.run([text], shell=False)
    frame.eval(text)
    return pickle.loads(eval(text))
"""


def test_risky_calls_are_named_however_imported() -> None:
    assert [(one.line, one.call) for one in risks(RISKY)] == [
        (7, "os.system"), (8, "subprocess.run"), (11, "pickle.loads"), (11, "eval"),
    ]

    assert risks("eval(") == ()


AFTER = "def f(x):\n    return x\n"


@pytest.mark.parametrize(("text", "shorter"), [
    ("def f(x):\n    return x\n    print(x)\n    x + 1\n", AFTER),
    ("import os\nfrom re import match, sub\n" + AFTER, AFTER),
    # A name that is bound, a yield and a lone line change what the function is, or read.
    ("def f(x):\n    return x\n    x = 1\n", None),
    ("def f(x):\n    return x\n    yield x\n", None),
    ("def f(x):\n    return x; print(x)\n", None),
    ("import os\n__all__ = [\'os\']\n", None),
    ("from __future__ import annotations\nfrom re import *\n", None),
    ("import os.path\nprint(os.sep)\n", None),
    ("def f(:\n", None),
])
def test_only_what_can_never_run_or_be_read_is_left_out(text: str, shorter: str | None) -> None:
    assert without_dead_code(text) == (text if shorter is None else shorter)


def test_what_stood_there_before_stays() -> None:
    text = "import os\nimport re\n" + AFTER
    assert without_dead_code(text, "import os\n" + AFTER) == "import os\n" + AFTER
