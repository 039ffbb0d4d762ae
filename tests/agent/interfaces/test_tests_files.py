"""Test files and the real engine: what is set aside, lent, deselected, or refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agent.interfaces.conftest import a_line_has
from tests.agent.interfaces.test_process import document, folder, heal, write

__all__ = ["folder"]

LANES = "def lanes(width, lane):\n    return width // lane + 1\n"
RIGHT = "def lanes(width, lane):\n    return width // lane\n"
TESTS = (
    "def test_two(): assert lanes(10, 4) == 2\n"
    "def test_one(): assert lanes(3, 3) == 1\n"
)
ELSEWHERE = (
    "import socket\n"
    "def test_fixture(spam): assert lanes(1, 1) == spam\n"
    "def test_network():\n"
    "    assert lanes(1, 1) == len(socket.gethostbyname('heal.example'))\n"
)


@pytest.fixture
def program(folder: Path) -> Path:
    write(folder, TESTS + ELSEWHERE, "test_lanes.py")
    return write(folder, LANES, "lanes.py")


@pytest.mark.nightly
def test_what_fails_for_another_reason_blocks_no_repair(folder: Path, program: Path) -> None:
    done = heal(folder, "run", program.name, "--tests-file", "test_lanes.py")

    assert done.returncode == 0, done.stderr
    assert a_line_has(done.stderr, "test_fixture", "spam")
    assert a_line_has(done.stderr, "test_network")
    assert "+    return width // lane\n" in done.stdout


@pytest.mark.nightly
def test_tests_that_only_pytest_can_find_drive_a_repair(folder: Path) -> None:
    program = write(folder, LANES, "lanes.py")
    write(folder, (
        "from lanes import lanes\ndef made(width, wanted):\n"
        "    def test(): assert lanes(width, 4) == wanted\n    return test\n"
        "test_ten, test_three = made(10, 2), made(3, 0)\n"
    ), "test_lanes.py")

    done = heal(folder, "run", program.name, "--tests-file", "test_lanes.py", "--json")

    assert done.returncode == 0, done.stderr
    assert [
        (one["id"], one["status"]) for one in document(done)["tests"] if one["origin"] == "user"
    ] == [("test_ten", "passed"), ("test_three", "passed")]


@pytest.mark.parametrize(("code", "tests"), [
    (RIGHT, ELSEWHERE),
    (LANES, "import lanes, pytest\npytest.skip('later', allow_module_level=True)\n" + TESTS),
], ids=["fails for another reason", "skips itself"])
def test_nothing_is_healed_where_no_test_fails(folder: Path, code: str, tests: str) -> None:
    program = write(folder, code, "lanes.py")
    write(folder, tests, "test_lanes.py")

    done = heal(folder, "run", program.name, "--tests-file", "test_lanes.py", "--json")

    assert (done.returncode, document(done)["outcome"]) == (4, "not_fixable"), done.stderr
    assert ("test_fixture" in document(done)["reason"]) == (code == RIGHT)


def test_tests_of_another_file_are_refused_and_it_is_named(folder: Path) -> None:
    program = write(folder, LANES, "lanes.py")
    write(folder, RIGHT, "road.py")
    write(folder, f"from road import lanes\n{TESTS}", "test_lanes.py")

    for command in ("check", "run"):
        done = heal(folder, command, program.name, "--tests-file", "test_lanes.py")

        assert done.returncode == 4, done.stderr
        assert a_line_has(done.stderr, "road.py", "lanes.py")


def test_a_deselected_test_has_no_verdict(folder: Path, program: Path) -> None:
    left = ("--deselect", "test_lanes.py::test_two", "--deselect", "test_network")

    done = heal(folder, "check", program.name, "--tests-file", "test_lanes.py", "--json", *left)

    assert {test["id"] for test in document(done)["tests"]} == {"test_one", "test_fixture"}


def test_a_doctest_that_failed_before_counts_where_it_is_asked_for(folder: Path) -> None:
    wrong = '    """\n    >>> lanes(4, 2)\n    3\n    """\n'
    program = write(folder, RIGHT.replace(":\n", f":\n{wrong}"), "lanes.py")
    arguments = ("check", program.name, "--tests", "assert lanes(10, 4) == 2")

    beside, asked = heal(folder, *arguments), heal(folder, *arguments, "--doctests")

    assert (beside.returncode, asked.returncode) == (0, 1), beside.stderr + asked.stderr
    assert "--doctests" in beside.stderr
