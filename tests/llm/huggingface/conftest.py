"""A tiny model of random weights, made once: nothing is downloaded."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from llm.keys import NO_KEY
from llm.provider import Connection
from llm.providers.huggingface import HuggingFaceProvider
from llm.providers.huggingface.host import ModelHost

if TYPE_CHECKING:
    from llm.providers.huggingface.decoding import LocalModel


@contextmanager
def offline() -> Iterator[None]:
    """Asks no hub within the block. The variable for that is read once, when the hub's library is
    imported, and other tests of the process do ask one, of their own."""
    constants = pytest.importorskip("huggingface_hub.constants")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(constants, "HF_HUB_OFFLINE", True)
        yield


@pytest.fixture(autouse=True)
def no_hub() -> Iterator[None]:
    with offline():
        yield


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    for needed in ("torch", "transformers", "accelerate"):
        pytest.importorskip(needed, reason="a local model needs torch, transformers, accelerate")
    import torch

    from tests.llm.tiny_model import saved

    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # several, on a machine that is busy, wait for each other
    yield saved(tmp_path_factory.mktemp("tiny"))
    torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def model(folder: Path) -> LocalModel:
    from llm.providers.huggingface.loading import Hardware, load

    with offline():
        return load(str(folder), NO_KEY, False, Hardware("cpu"))


@pytest.fixture(scope="session")
def host() -> ModelHost:
    from llm.providers.huggingface.loading import Hardware, load

    return ModelHost(partial(load, hardware=Hardware("cpu")))


@pytest.fixture
async def provider(folder: Path, host: ModelHost) -> AsyncIterator[HuggingFaceProvider]:
    made = HuggingFaceProvider(Connection("huggingface", str(folder)), host)
    yield made
    await made.close()
