"""Text that does not compile is repaired by small edits near the error."""

import ast
import warnings

import pytest

from agent.search.syntax import compiles, fault, repaired
from agent.search.syntax.broken import LONG, Broken
from agent.search.syntax.fault import Fault
from agent.search.syntax.foreign import _fix_comments, foreign
from agent.search.syntax.plausible import implausibility
from agent.search.syntax.windows import windows

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
    found = [text for _, text in repaired(broken, MOST)]

    assert found
    assert all(compiles(text) for text in found)
    if whole is not None:
        assert whole in found[:5]


LOOP = """def total(prices):
    result = 0
    for price in prices:
        if price > 0:
            result += price
    return result
"""


@pytest.mark.parametrize(
    ("whole", "right", "wrong"),
    [
        # wrapped in what it was copied from
        (LOOP, LOOP, f"```python\n{LOOP}```\n"),
        (LOOP, LOOP, f"Here is the code:\n\n{LOOP}"),
        (LOOP, LOOP, f"{LOOP}\nThis adds all prices, and returns the sum.\n"),
        (LOOP, LOOP, "".join(f"{n:3}  {line}\n" for n, line in enumerate(LOOP.splitlines(), 1))),
        (LOOP, LOOP, ">>> " + "\n... ".join(LOOP.splitlines()) + "\n"),
        (LOOP, LOOP, LOOP.rstrip("\n").replace("\n", "\\n") + "\\n"),
        (LOOP, "price > 0", "price &gt; 0"),
        (LOOP, "    result = 0\n", "<<<<<<< HEAD\n    result = 0\n=======\n    result = 1\n"
         ">>>>>>> other\n"),
        # other languages
        (LOOP, "        if price > 0:\n            result += price\n",
         "        if (price > 0) {\n            result += price;\n        }\n"),
        (LOOP, "for price in prices:", "foreach price in prices:"),
        (LOOP, "def total", "function total"),
        (LOOP, "    result = 0\n", "    let result = 0;\n"),
        ("i = 0\nwhile i < 3:\n    i += 1\n", "i += 1", "i++"),
        ("x = 1 if a else 2\n", "1 if a else 2", "a ? 1 : 2"),
        # indentation
        (LOOP, "    return result", "return result"),
        (LOOP, "        if price > 0:\n            result += price\n",
         "    if price > 0:\n        result += price\n"),
        (LOOP, "            result += price\n", "\t\t\tresult += price\n"),
        (LOOP, "    return result", "  return result"),
        ("def f():\n    pass\n\n\ndef g():\n    return 1\n", "    pass\n", "    # later\n"),
        # brackets, quotes and f-strings
        ("n = max(len(a), len(b))\n", "len(a), ", "len(a, "),
        ("print(names[0], 1)\n", "names[0]", "names[0)"),
        ("print('it is', 3)\n", "'it is'", "'it is\""),
        ('x = "it\'s"\n', '"it\'s"', "'it's'"),
        ("s = f'{name} left'\n", "{name} left", "{name left"),
        ("s = 'one\\ntwo'\n", "\\n", "\n"),
        ("s = 'a' + f'{b}'\n", "{b}", "{b}}"),
        ('def f():\n    """Says one."""\n    return 1\n', 'one."""', "one."),
        # words and shapes
        (LOOP, "    return result", "    retrun result"),
        (LOOP, "for price in", "For price in"),
        ("if a not in b:\n    c()\n", "not in", "no tin"),
        ("x = {'a': 1, 'b': 2}\n", "'b': 2", "'b' = 2"),
        ("y = [a for a in b if a > 1]\n", "a for a in b if a > 1", "a if a > 1 for a in b"),
        ("f = lambda x: x + 1\n", "lambda x: x", "lambda x: return x"),
        ("from os import path\n", "from os import path", "import path from os"),
        ("class_ = 3\nprint(class_)\n", "class_", "class"),
        ("a = 1\nb = 2\n", "a = 1\nb = 2\n", "a = 1 b = 2\n"),
        ("async def f(g):\n    return await g()\n", "async def", "def"),
        # Python 2
        ("print(a, file=log)\nprint('b')\n", "print(a, file=log)\nprint('b')",
         "print >>log, a\nprint 'b'"),
        ("raise ValueError('no')\n", "ValueError('no')", "ValueError, 'no'"),
        ("mode = 0o755\n", "0o755", "0755"),
    ],
)
def test_the_likeliest_text_is_the_one_that_was_meant(whole: str, right: str, wrong: str) -> None:
    broken = whole.replace(right, wrong)

    assert fault(broken) is not None
    likeliest = repaired(broken, MOST)[0][1]
    assert ast.dump(ast.parse(likeliest)) == ast.dump(ast.parse(whole))


def test_a_repair_changes_only_what_is_broken() -> None:
    broken = "def f(x)\n    if x > 0\n        return 'pos'\n    return 'neg\n"
    whole = "def f(x):\n    if x > 0:\n        return 'pos'\n    return 'neg'\n"

    assert whole in [text for _, text in repaired(broken, MOST)]

    broken = "x  =  1   # one\n\n\ndef f( a )\n    # two\n    return   a\n"

    assert repaired(broken, MOST)[0][1] == broken.replace("( a )", "( a ):")

    assert repaired("x = 1\n", MOST) == [(0.0, "x = 1\n")]

    broken = "def f(x:\n    return (x\n"

    assert repaired(broken, 800) == repaired(broken, 800)


@pytest.mark.parametrize("prose", ["hello there, please fix my computer", "fix it now please\n"])
def test_prose_is_not_mended_by_taking_it_away(prose: str) -> None:
    found = [text for _, text in repaired(prose, MOST)]

    assert "" not in [text.strip() for text in found]
    assert not [text for text in found if text.lstrip().startswith("#")]


def test_compiler_warnings_are_ignored() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = repaired("if x is 1\n    y = '\\d'\n", MOST)

    assert found[0][1] == "if x is 1:\n    y = '\\d'\n"


def test_long_texts_are_repaired_part_by_part() -> None:
    part = "def f{0}(x):\n    if x > {0}:\n        return [x, {0}]\n    return x\n\n\n"
    whole = "".join(part.format(number) for number in range(60))
    broken = whole.replace("x > 11:", "x > 11").replace("[x, 44]", "[x, 44")
    at = fault(broken)

    assert at is not None
    assert windows(broken, at)[0].end - windows(broken, at)[0].start < 100
    assert repaired(broken, 600)[0][1] == whole

    part = "    def f{0}(self, x):\n        return [x, {0}]\n\n"
    whole = "class Long:\n" + "".join(part.format(number) for number in range(60))
    broken = whole.replace("[x, 44]", "[x, 44")
    at = fault(broken)

    assert at is not None
    assert windows(broken, at)[0].head
    assert repaired(broken, 300)[0][1] == whole


@pytest.mark.parametrize(
    ("natural", "odd"),
    [
        ("def f(a):\n    b = a\n    return b\n", "def f(a):\n    b = a\nprint(b)\n"),
        ("print(len(a), b)\n", "print(len(a, b))\n"),
        ("x = a == b\n", "x == a\n"),
        ("def f():\n    g()\n    return 1\n", "def f():\n    return 1\n    g()\n"),
    ],
)
def test_what_nobody_writes_is_odder(natural: str, odd: str) -> None:
    names = frozenset({"a", "b", "f", "g", "x"})

    assert implausibility(natural, names) < implausibility(odd, names)


@pytest.mark.parametrize("terms", [990, 2990])
def test_what_is_mended_can_be_read(terms: int) -> None:
    assert repaired(f"def f(x)\n    return x{' + 0' * terms}\n", 100) == []


def test_foreign_syntax_is_rewritten_within_limits() -> None:
    def short(line: str) -> list[str]:
        broken = Broken(line, Fault(1, 0, "invalid syntax", len(line), parsed=False))
        return [one.new for one in foreign(broken)]

    assert "raise (" in short("throw (")
    assert short("throw " + "(" * LONG) == []

    assert _fix_comments("a /* b */ c /* d") == "a  c /* d"
