"""What a machine does for the rows that it takes: it checks its jail, serves one local model to all
of them, and runs each with the settings of the driver."""

from __future__ import annotations

import asyncio
import hashlib
import os
import platform
from collections.abc import Callable, Coroutine, Mapping
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypedDict, get_args

from agent.core.settings import GENERATOR, Settings, provider_settings, table
from agent.iteration.models import LOCAL_USER, Models, key_names
from agent.verify.jail_level import jail_status
from llm.keys import NO_KEY
from sandbox import SandboxError, open_sandbox
from sandbox.levels import JailLevel

Function = Callable[[Any], Coroutine[Any, Any, Any]]
"""Measures an item. Other processes import it by its name, so it is a function of a module, or a
`functools.partial` of one; item and result can be pickled."""
ROOT = Path(__file__).parent.parent
SHIPPED = ("agent", "evaluation", "llm", "prompts", "sandbox")
"""The packages that rows need."""
FILES = ("GGUF_MODEL", "HEAL_PRICES", "HEAL_PROMPTS")
"""Variables that may name a file, relative to the folder of the driver."""
LOAD_S = 600.0


class NodeFacts(TypedDict):
    """The provenance of the rows of one machine."""

    node: str
    jail: str
    """The measured isolation level."""
    jail_words: str
    cores: int
    python: str
    system: str
    packages: dict[str, str]
    code_sha256: str
    """Of the project's files."""
    model_sha256: str | None
    """Of the local model's file, if llama.cpp answers."""


async def describe_node(settings: Settings, name: str = "") -> NodeFacts:
    """Measures the jail and the model of this machine. Raises `SandboxError`, `LlmError`."""
    jail = await jail_status(open_sandbox(settings.sandbox, settings.environment or None))
    return NodeFacts(
        node=name or platform.node(), jail=jail.level, jail_words=jail.words,
        cores=os.cpu_count() or 1, python=platform.python_version(), system=platform.platform(),
        packages={name: version(name) for name in ("pytest", "ray") if find_spec(name)},
        code_sha256=code_checksum(),
        model_sha256=await asyncio.to_thread(NodeModel(settings).checksum),
    )


async def holds_jail(settings: Settings, name: str) -> NodeFacts | str:
    """Measures this machine; returns why it takes no rows if it cannot hold the jail."""
    try:
        facts = await describe_node(settings, name)
    except SandboxError as error:
        return str(error)
    return facts if facts["jail"] in get_args(JailLevel) else facts["jail_words"]


@cache
def code_checksum() -> str:
    """The checksum of the modules and prompts that this process imports."""
    found = hashlib.sha256()
    for path in sorted(path for name in SHIPPED for path in (ROOT / name).rglob("*.*")):
        if path.suffix in (".py", ".toml", ".yaml"):
            found.update(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes())
    return found.hexdigest()


class NodeModel:
    """The one llama.cpp server on a machine, which all rows there share."""

    def __init__(self, settings: Settings) -> None:
        self._models = Models(settings)
        choice = self._models.plan().of(GENERATOR)
        self._choice = choice if choice is not None and choice.provider == "llamacpp" else None
        self._provider: Any = None

    def __bool__(self) -> bool:
        """Whether llama.cpp answers on the machine of a row."""
        return self._choice is not None

    def checksum(self) -> str | None:
        """The SHA-256 of the model's file, which is downloaded if necessary."""
        if self._choice is None:
            return None
        from llm.providers.llamacpp.files import fetch_file

        key = self._models.keys(LOCAL_USER).get("HF_TOKEN", NO_KEY)
        with fetch_file(self._choice.model, key, lambda *_: None).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    async def environment(self) -> dict[str, str]:
        """The variables that make a row use the server, which is started if it does not run."""
        if self._choice is None:
            return {}
        self._provider = self._provider or self._models.provider(self._choice, LOCAL_USER)
        return {"GGUF_SERVER": await self._provider.served_at(LOAD_S)}


def driver_environment() -> dict[str, str]:
    """The settings and keys of this process, for the rows on other machines."""
    names = {
        *(one.name for one in table()), *key_names(), *(one.alias for one in provider_settings())
    }
    found = {name: os.environ[name] for name in names & os.environ.keys()}
    for name in FILES:
        if found.get(name) and Path(found[name]).exists():
            found[name] = str(Path(found[name]).resolve())
    return found


def run_row(function: Function, item: Any, environment: Mapping[str, str]) -> Any:
    """Measures an item in this process, with variables of the driver's environment. All rows of a
    process have one event loop, so that they can share a sandbox."""
    os.environ.update(environment)
    try:
        return _runner().run(function(item))
    except SystemExit:  # the process was terminated: let the row clean up
        _runner().close()
        raise


@cache
def _runner() -> asyncio.Runner:
    return asyncio.Runner()
