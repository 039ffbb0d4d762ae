"""How the suite is run: in which order, and how much of it."""

from __future__ import annotations

import hashlib
import os
import ssl
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from xdist.remote import Producer
    from xdist.scheduler import LoadFileScheduling

pytest_plugins = ["tests.postgres"]
TORCH = (
    "tests/agent/propose/test_with_local_model.py", "tests/contract/", "tests/llm/huggingface/",
)
"""What runs models in its process: to import torch takes longer than these tests do."""

settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")  # no test fails since its machine has other work

# No test speaks TLS, and each client of a provider would read the certificate authorities, which
# takes 40 ms of processor time.
ssl.SSLContext.load_verify_locations = lambda *_given, **_named: None  # type: ignore[method-assign]

# What a run does is tested apart from how sure it is: of tests with one or two asserts hardly any
# patch is likely enough to count as healed. Tests of the confidence set their own threshold.
os.environ["HEAL_REQUIRE_CONFIDENCE"] = "0"


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--whole`: all that `make test-all` tries and `make test` takes samples of."""
    parser.addoption("--whole", action="store_true", help="whole corpora, all sandbox levels")


def pytest_xdist_auto_num_workers() -> int:
    """Half as many again as there are cores: tests wait for their jails, servers and pages for a
    good part of their time."""
    return 3 * (os.cpu_count() or 1) // 2 or 1


def pytest_xdist_make_scheduler(
    config: pytest.Config, log: Producer
) -> LoadFileScheduling | None:
    """Where a file is one process's, all that imports torch is one's as well."""
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return "torch" if nodeid.startswith(TORCH) else super()._split_scope(nodeid)

    return Scheduling(config, log) if config.getvalue("dist") == "loadfile" else None


@pytest.fixture(scope="session")
def whole(request: pytest.FixtureRequest) -> bool:
    """Whether all is tried, and not a sample."""
    return bool(request.config.getoption("--whole"))


def unsampled(items: list[pytest.Item]) -> set[pytest.Item]:
    """All but a few cases of what is `sampled`, and all but an eighth of what is `weaker`; the same
    each time."""
    groups: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("sampled"):
            groups.setdefault(item.nodeid.partition("[")[0], []).append(item)
    left = {item for item in items if item.get_closest_marker("weaker") and by_chance(item)[0] % 8}
    for group in groups.values():
        (few,) = group[0].iter_markers("sampled")
        left.update(sorted(group, key=by_chance)[few.args[0]:])
    return left


def by_chance(item: pytest.Item) -> bytes:
    return hashlib.sha256(item.nodeid.encode()).digest()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Files with slow tests first: files are shared out among processes in this order, and begun
    last, a slow one would go on alone while the other processes idle."""
    if not config.getoption("--whole"):
        nightly = {item for item in items if item.get_closest_marker("nightly")} | unsampled(items)
        config.hook.pytest_deselected(items=[*nightly])
        items[:] = [item for item in items if item not in nightly]
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)
