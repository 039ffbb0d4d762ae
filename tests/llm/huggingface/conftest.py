"""A tiny model of random weights, made once: nothing is downloaded."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from llm.keys import NO_KEY
from llm.provider import Connection
from llm.providers.huggingface import HuggingFaceProvider
from llm.providers.huggingface.hardware import Hardware
from llm.providers.huggingface.host import Host

os.environ["HF_HUB_OFFLINE"] = "1"  # read by the hub's library when it is imported

if TYPE_CHECKING:
    from llm.providers.huggingface.decoding import LocalModel


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    for needed in ("torch", "transformers", "accelerate"):
        pytest.importorskip(needed, reason="a local model needs torch, transformers, accelerate")
    import torch

    from evaluation.measures.tiny_model import saved

    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # several, on a machine that is busy, wait for each other
    yield saved(tmp_path_factory.mktemp("tiny"))
    torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def model(folder: Path) -> LocalModel:
    from llm.providers.huggingface.loading import load

    return load(str(folder), NO_KEY, False, Hardware("cpu"))


@pytest.fixture(scope="session")
def host() -> Host:
    from llm.providers.huggingface.loading import load

    return Host(partial(load, hardware=Hardware("cpu")))


@pytest.fixture
async def provider(folder: Path, host: Host) -> AsyncIterator[HuggingFaceProvider]:
    made = HuggingFaceProvider(Connection("huggingface", str(folder)), host)
    yield made
    await made.close()
