from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agent.memory import Failure, Fix, Memory


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    memory = Memory(tmp_path / "memory.db")
    yield memory
    memory.close()


@pytest.fixture
def fix() -> Callable[..., Fix]:
    """Makes a fix of a small program under a failure's signature."""

    def make(signature: str = "s", before: str = "", after: str = "", **changes: object) -> Fix:
        failure = Failure(
            signature=signature, exception="wrong result", shape="failed",
            passed="0 of 1 tests pass",
        )
        return Fix(
            failure=failure.model_copy(update=changes),
            before=before or "def f(a, b):\n    return a + b\n",
            after=after or "def f(a, b):\n    return a - b\n",
            proof="E1", note="changed + to -",
        )

    return make
