"""Text that does not compile is mended by small edits near the error."""

import pytest

from agent.repair.syntax import compiles, mended

MOST = 4000


@pytest.mark.parametrize(
    ("broken", "whole"),
    [
        ("def f(x)\n    return x\n", "def f(x):\n    return x\n"),
        ("print('a'\n", "print('a')\n"),
        ("x = [1, 2\ny = 3\n", "x = [1, 2]\ny = 3\n"),
        ("name = 'Ann\n", "name = 'Ann'\n"),
        ("print 'hello', x\n", "print('hello', x)\n"),
        ("try:\n    f()\nexcept OSError, e:\n    pass\n",
         "try:\n    f()\nexcept OSError as e:\n    pass\n"),
        ("if x = 1:\n    y()\n", "if x == 1:\n    y()\n"),
        ("if x:\n    y()\nelse if z:\n    w()\n", "if x:\n    y()\nelif z:\n    w()\n"),
        ("if a && b:\n    c()\n", "if a and b:\n    c()\n"),
        ("def f():\n    x = 1\n      y = 2\n", "def f():\n    x = 1\n    y = 2\n"),
        ("def f():\nreturn 1\n", "def f():\n    return 1\n"),
        ("print(\u201chi\u201d)\n", 'print("hi")\n'),
        ("x = y ++ z;;\nfro i in x:\n    pass\n", None),
    ],
)
def test_a_broken_text_is_mended(broken: str, whole: str | None) -> None:
    found = [text for _, text in mended(broken, MOST)]

    assert found
    assert all(compiles(text) for text in found)
    if whole is not None:
        assert whole in found[:5]


def test_several_errors_are_mended_one_after_the_other() -> None:
    broken = "def f(x)\n    if x > 0\n        return 'pos'\n    return 'neg\n"
    whole = "def f(x):\n    if x > 0:\n        return 'pos'\n    return 'neg'\n"

    assert whole in [text for _, text in mended(broken, MOST)]


def test_text_that_compiles_is_left_alone() -> None:
    assert mended("x = 1\n", MOST) == [(0.0, "x = 1\n")]


def test_the_same_text_is_mended_the_same_way() -> None:
    broken = "def f(x:\n    return (x\n"

    assert mended(broken, 800) == mended(broken, 800)


@pytest.mark.parametrize("prose", ["hello there, please fix my computer", "fix it now please\n"])
def test_prose_is_not_mended_by_taking_it_away(prose: str) -> None:
    found = [text for _, text in mended(prose, MOST)]

    assert "" not in [text.strip() for text in found]
    assert not [text for text in found if text.lstrip().startswith("#")]
