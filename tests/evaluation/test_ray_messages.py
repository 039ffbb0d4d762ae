"""What a command says if its Ray cluster cannot be used, with a double in the place of Ray."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from evaluation.executors import ExecutorError
from evaluation.nodes import code_checksum


class RayError(Exception):
    pass


class RayTaskError(RayError):
    pass


class GetTimeoutError(RayError):
    pass


def remote(*given: Any, **named: Any) -> Any:
    return given[0] if given else lambda decorated: decorated


@pytest.fixture
def executor(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The module over a double of Ray."""
    names = ("ray", "ray.exceptions", "ray.util", "ray.util.scheduling_strategies")
    double, exceptions, _, strategies = modules = [ModuleType(name) for name in names]
    for name, value in {
        "remote": remote, "__version__": "2.60.0", "shutdown": lambda: None,
        "init": lambda **named: None,
    }.items():
        setattr(double, name, value)
    for error in (RayError, RayTaskError, GetTimeoutError):
        setattr(exceptions, error.__name__, error)
    strategies.NodeAffinitySchedulingStrategy = lambda *_, **__: None  # type: ignore[attr-defined]
    for name, module in zip(names, modules, strict=True):
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.delitem(sys.modules, "evaluation.ray_executor", raising=False)
    yield importlib.import_module("evaluation.ray_executor")
    del sys.modules["evaluation.ray_executor"]


@pytest.mark.parametrize("ending", [
    subprocess.TimeoutExpired("ray", 1), subprocess.CalledProcessError(1, "ray"),
])
def test_an_address_that_answers_nothing(
    executor: Any, monkeypatch: pytest.MonkeyPatch, ending: Exception
) -> None:
    def run(*given: Any, **named: Any) -> None:
        raise ending

    monkeypatch.setattr(subprocess, "run", run)
    with pytest.raises(ExecutorError, match=r"No Ray head node answers at host:1\. Start one with"):
        executor._connect("host:1")


@pytest.mark.parametrize(("error", "said"), [
    (RuntimeError("Version mismatch: The cluster was started with:\n Python: 3.12.1"),
     r"Python: 3\.12\.1\. All nodes need the Python and ray of this command"),
    (ConnectionError("no raylet"), r"no raylet\. .* this machine must be one of them: run"),
])
def test_a_cluster_that_does_not_fit(
    executor: Any, monkeypatch: pytest.MonkeyPatch, error: Exception, said: str
) -> None:
    def init(**named: Any) -> None:
        raise error

    monkeypatch.setattr(executor, "_require_answer", lambda address: None)
    monkeypatch.setattr(executor.ray, "init", init)
    with pytest.raises(ExecutorError, match=said):
        executor._connect("host:1")


async def checked(executor: Any, monkeypatch: pytest.MonkeyPatch, *results: object) -> list[str]:
    """The ids of the nodes that take rows, of those whose checks end with these results."""
    nodes = {
        f"node{number}": {"NodeID": f"node{number}", "NodeManagerHostname": "host"}
        for number in range(len(results))
    }

    def get(check: object, timeout: float) -> object:
        if isinstance(check, Exception):
            raise check
        return check

    answers = iter(results)
    check = SimpleNamespace(options=lambda **_: SimpleNamespace(remote=lambda *_: next(answers)))
    monkeypatch.setattr(executor, "_living", lambda: nodes)
    monkeypatch.setattr(executor, "_check", check)
    monkeypatch.setattr(executor.ray, "get", get, raising=False)
    return [node["NodeID"] async for node, _ in executor._checked_nodes("mock")]


def facts(**changes: object) -> dict[str, object]:
    same = {"code_sha256": code_checksum(), "model_sha256": None, "jail_words": "jail: L4"}
    return {**same, **changes}


async def test_a_node_without_the_jail_takes_no_rows_and_says_why(
    executor: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await checked(
        executor, monkeypatch, "no jail: EPERM", facts(), GetTimeoutError(),
        facts(code_sha256="other"), RayError("gone\nNo module named 'pydantic'"),
    ) == ["node1"]
    said = capsys.readouterr().err.splitlines()
    assert said[0].startswith("node host/node0 takes no rows: no jail: EPERM. Correct this")
    assert said[1] == "node host/node1: jail: L4"
    assert "its check did not end in 180 s" in said[2]
    assert "it imports other code than this checkout" in said[3]
    assert "RayError: No module named 'pydantic'" in said[4]


async def test_nodes_with_different_models_are_refused(
    executor: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ExecutorError, match="different files of the model"):
        await checked(executor, monkeypatch, facts(model_sha256="a"), facts(model_sha256="b"))


def test_slots_are_dealt_to_the_nodes_in_turn(executor: Any) -> None:
    nodes = [
        {"NodeID": "a", "Resources": {"CPU": 4.0}}, {"NodeID": "b", "Resources": {"CPU": 2.0}},
        {"NodeID": "c", "Resources": {}},
    ]
    assert [*executor._slots_of(nodes, 1.0)] == ["a", "b", "a", "b", "a", "a"]
    assert [*executor._slots_of(nodes, 3.0)] == ["a"]
