"""`--watch`: a change heals again, and ends a run that is under way."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from watchfiles import Change as Kind

from agent.interfaces.exits import HEALED, INTERRUPTED
from agent.interfaces.request import HealRequest, UsageError
from agent.interfaces.terminal.commands import Display
from agent.interfaces.terminal.display import Terminal
from agent.interfaces.terminal.watching import _Sources, heal_at_changes
from agent.interfaces.writeback import Change, write_all_back
from agent.target.errors import NotFixable


async def test_a_change_heals_again_and_ends_a_run_under_way(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "program.py"
    file.write_text("x = 1\n")
    began: list[str] = []
    ended: list[str] = []
    another = asyncio.Event()

    async def heal() -> int:
        text = file.read_text()
        began.append(text)
        another.set()
        if text == "refused\n":
            raise NotFixable("environment", "no edit can help")
        try:
            await asyncio.sleep(60 if text == "slow\n" else 0)
        except asyncio.CancelledError:
            ended.append(text)
            return INTERRUPTED
        return HEALED

    async def changed(name: str, text: str, runs: int) -> None:
        # The watcher may not watch yet, so the change is made until it is seen.
        async with asyncio.timeout(60):
            while len(began) < runs:
                another.clear()
                (tmp_path / name).write_text(text)
                await asyncio.wait([asyncio.ensure_future(another.wait())], timeout=2)

    watching = asyncio.create_task(
        heal_at_changes(heal, HealRequest(str(file)), Display(Terminal()))
    )
    await changed("program.py", "slow\n", 2)
    await changed("program.py", "refused\n", len(began) + 1)
    assert {*ended} == {"slow\n"}
    await changed("data.json", "{}", len(began) + 1)
    watching.cancel()
    with pytest.raises(asyncio.CancelledError):
        await watching
    said = capsys.readouterr().err
    assert "no edit can help" in said and "Changed: data.json" in said


@pytest.mark.parametrize("given", [
    {"path": "-"}, {"commit": True}, {"out": Path("patch")}, {"sarif": Path("x.sarif")},
])
def test_watching_is_refused_with_what_is_written_once(
    given: dict[str, object], tmp_path: Path
) -> None:
    (tmp_path / "test_a.py").write_text("def test_a(): pass\n")
    request = HealRequest(**{"path": str(tmp_path), "watch": True, **given})  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="--watch"):
        request.refuse_contradictions()


def test_a_backup_is_no_change(tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text("x = 1\n")
    watched = _Sources()
    for number in range(2):
        (backup,) = write_all_back(
            [Change(file, file.read_bytes(), b"x = %d\n" % number, tmp_path, tmp_path)]
        ).values()
        assert not watched(Kind.added, str(backup))
    assert watched(Kind.modified, str(file))
