"""What nothing reads is told, where a repair has changed the function around it."""

from __future__ import annotations

from agent.repair.unread import unread_names

USER = """class User:
    def __init__(self, name, admin=False):
        self.name = name
        self.admin = True

    def may(self):
        return self.admin
"""


def changed(text: str) -> tuple[str, ...]:
    return unread_names("", text)


def test_a_parameter_that_nothing_reads_is_told() -> None:
    assert unread_names(USER.replace("return", "return not"), USER) == ("admin",)
    assert unread_names(USER, USER) == ()
    assert changed(USER.replace("True", "admin")) == ()


def test_a_variable_that_nothing_reads_is_told() -> None:
    text = "def f(xs):\n    best = xs[0]\n    best += 1\n    return xs\n"
    assert changed(text) == ("best",)
    assert changed(text.replace("return xs", "return lambda: best")) == ()
    assert changed(text.replace("    best =", "    global best\n    best =")) == ()


def test_parameters_that_somebody_else_prescribes_are_left_out() -> None:
    assert changed("@route\ndef f(request):\n    return 1\n") == ()
    assert changed("def f(_context):\n    return 1\n") == ()
    assert changed("def f(a):\n    raise NotImplementedError\n") == ()
    assert changed("class A(B):\n    def f(self, event):\n        return 1\n") == ()
    assert changed("class A:\n    def __exit__(self, *a, b=1):\n        return 1\n") == ()
    assert changed("def f(a):\n    return eval('a')\n") == ()


def test_what_does_not_parse_has_none() -> None:
    assert changed("def f(:") == ()
