"""The terminal face of the sandbox."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

from sandbox.__main__ import main
from sandbox.attacks import ATTACKS, gauntlet
from sandbox.contract import ContractCheck, run_checks


def test_a_file_runs_with_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "program.py"
    program.write_text("import sys\nprint(input(), sys.argv[1:])\nsys.exit(7)\n")
    (tmp_path / "input").write_text("from a file\n")

    code = main(["run", str(program), "--stdin", f"@{tmp_path / 'input'}", "--", "-x", "y"])

    assert code == 7
    assert capsys.readouterr().out == "from a file ['-x', 'y']\n"


@pytest.mark.parametrize(
    ("text", "code", "ended"),
    [
        ("print(1)", 0, "completed"),
        ("1 / 0", 1, "exited"),
        ("while True: pass", 124, "timeout"),
        ("import os; os.abort()", 134, "killed"),
        ("while True: print('x' * 9999)", 137, "output"),
    ],
)
def test_the_exit_code_and_the_document_tell_how_it_ended(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, code: int, ended: str
) -> None:
    program = tmp_path / "program.py"
    program.write_text(text)

    assert main(["run", str(program), "--json", "--seconds", "2"]) == code

    assert json.loads(capsys.readouterr().out)["ended"] == ended


def test_a_broken_rule_is_named(
    strongest: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "program.py"
    program.write_text("import socket\nsocket.socket()\n")

    assert main(["run", str(program)]) == 1
    assert capsys.readouterr().err.strip().endswith("; the jail allows no network]")

    assert main(["run", str(program), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["denied"] == ["network"]


@pytest.mark.parametrize("content", [None, b"\xff\xfe\x00"])
def test_an_unreadable_file_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes | None
) -> None:
    program = tmp_path / "program.py"
    if content is not None:
        program.write_bytes(content)

    assert main(["run", str(program)]) == 2

    told = capsys.readouterr().err
    assert told.startswith("sandbox: ")
    assert str(program) in told
    assert told.count("\n") == 1


@pytest.mark.parametrize(
    "limit", ["--seconds=nan", "--seconds=inf", "--seconds=0", "--seconds=-1", "--mebibytes=0"]
)
def test_a_limit_that_is_none_is_a_mistake_of_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], limit: str
) -> None:
    program = tmp_path / "program.py"
    program.write_text("")

    with pytest.raises(SystemExit) as ended:
        main(["run", str(program), limit])

    assert ended.value.code == 2
    assert limit.partition("=")[0] in capsys.readouterr().err


def test_the_selftest_prints_its_level_its_layers_and_every_attack(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ("find the app's key in os.environ", "fork")
    chosen = tuple(attack for attack in ATTACKS if attack.name in names)
    monkeypatch.setattr("sandbox.__main__.gauntlet", partial(gauntlet, attacks=chosen))

    assert main(["--backend", "subprocess", "selftest", "--json"]) == 1

    seen = json.loads(capsys.readouterr().out)
    assert seen == {
        "level": "L1",
        "layers": [
            {"name": "limits", "holds": True, "seen": "set inside and outside the job"}
        ],
        "attacks": [
            {
                "name": "find the app's key in os.environ", "result": "blocked",
                "errno": "absent", "control": "through", "why": "",
            },
            {
                "name": "fork", "result": "breached", "errno": "through",
                "control": "through", "why": "promised: nothing at this level",
            },
        ],
    }


def test_a_claim_that_does_not_hold_fails_the_selftest_and_says_what_was_seen(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def seen_wrong(sandbox: object) -> str:
        return "the wall has a hole"

    monkeypatch.setattr("sandbox.__main__.gauntlet", partial(gauntlet, attacks=()))
    only = partial(run_checks, checks=[ContractCheck("walls", seen_wrong)])
    monkeypatch.setattr("sandbox.__main__.run_checks", only)

    assert main(["selftest", "--all", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["contract"] == [
        {"claim": "walls", "seen_wrong": "the wall has a hole", "holds": False}
    ]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--backend", "subprocess", "selftest", "--at-most", "L2"],
        ["selftest", "--backend", "subprocess", "--at-most", "L2"],
        ["--backend", "jail", "selftest", "--at-most", "L2", "--backend", "subprocess"],
    ],
    ids=["before the command", "behind it", "twice, where the last counts"],
)
def test_only_the_jail_can_be_weakened_for_a_test(
    capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    assert main(arguments) == 3

    assert "only the jail has levels" in capsys.readouterr().err
