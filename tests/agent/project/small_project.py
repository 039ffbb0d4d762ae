"""A small project with most of what pytest's suites have, one of whose tests fails."""

from __future__ import annotations

from agent.core.domain import REST, File, Project, Script, Solution, Task

ALONE = "--disable-plugin-autoload"
"""To load what our own tests need takes pytest six times as long as the rest of its start."""


def pyproject(name: str, options: str = ALONE, *more: str) -> str:
    """The settings of a project, with these options of pytest."""
    lines = f'[project]\nname = "{name}"\n[tool.pytest.ini_options]\naddopts = "{options}"\n'
    return lines + "".join(f"{line}\n" for line in more)


FILES = {
    "pyproject.toml": pyproject("till", f"-ra {ALONE}"),
    "src/till/__init__.py": "from .money import total\n",
    "src/till/money.py": (
        "RATES = {'eur': 1.0, 'usd': 0.9}\n"
        "\n"
        "\n"
        "def total(prices, rate='eur'):\n"
        "    found = 0\n"
        "    for price in prices:\n"
        "        found += price * RATES[rate]\n"
        "    return found\n"
        "\n"
        "\n"
        "def split(amount, people):\n"
        "    share = amount // people\n"
        "    return [share] * (people - 1)\n"
    ),
    "tests/conftest.py": (
        "import pytest\n"
        "\n"
        "\n"
        "@pytest.fixture(scope='session')\n"
        "def prices():\n"
        "    return [1, 2, 3]\n"
    ),
    "tests/test_money.py": (
        "import unittest\n"
        "import pytest\n"
        "from till import total\n"
        "from till.money import split\n"
        "\n"
        "\n"
        "def test_total(prices):\n"
        "    assert total(prices) == 6\n"
        "\n"
        "\n"
        "@pytest.mark.parametrize('people', [2, 4])\n"
        "def test_split(people):\n"
        "    assert split(8, people) == [8 // people] * people\n"
        "\n"
        "\n"
        "def test_files(tmp_path, capsys):\n"
        "    (tmp_path / 'a').write_text('x')\n"
        "    print('said')\n"
        "    assert capsys.readouterr().out == 'said\\n'\n"
        "\n"
        "\n"
        "@pytest.mark.xfail\n"
        "def test_later():\n"
        "    assert total([1], 'gbp') == 1\n"
        "\n"
        "\n"
        "@pytest.mark.skip\n"
        "def test_never():\n"
        "    assert False\n"
        "\n"
        "\n"
        "class Cases(unittest.TestCase):\n"
        "    def setUp(self):\n"
        "        self.rate = 'usd'\n"
        "\n"
        "    def test_rate(self):\n"
        "        self.assertAlmostEqual(total([10], self.rate), 9.0)\n"
        "\n"
        "    def test_shares(self):\n"
        "        self.assertEqual(sum(split(9, 3)), 9)\n"
        "\n"
        "    @unittest.expectedFailure\n"
        "    def test_odd(self):\n"
        "        self.assertEqual(sum(split(10, 3)), 10)\n"
    ),
}
EDITABLE = ("src/till/__init__.py", "src/till/money.py")
FAILING = {
    "tests/test_money.py::test_split[2]", "tests/test_money.py::test_split[4]",
    "tests/test_money.py::Cases::test_shares",
}
HEALED = FILES["src/till/money.py"].replace("(people - 1)", "people")

PROJECT = Project(root="/none", name="till", import_roots=("src", ""), editable=EDITABLE)


def task(**files: str) -> Task:
    """The task to heal it; files by path, over those that it has."""
    laid = FILES | files
    return Task(
        support=tuple(File(path=path, text=text) for path, text in laid.items()), project=PROJECT,
    )


def base() -> Solution:
    """Its program, as it came."""
    return Solution(
        files=tuple(File(path=path, text=FILES[path]) for path in EDITABLE), entry=EDITABLE[1],
    )


def scripts(nodes: list[str]) -> tuple[Script, ...]:
    """Tests by their node ids, and the rest."""
    named = tuple(Script(name=one, origin="user", code="", node=one) for one in nodes)
    return (*named, Script(name="the rest of the suite", origin="user", code="", node=REST))
