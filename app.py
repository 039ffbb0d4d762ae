"""Serves the web page: reads the settings, builds the page and starts the server."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")

from agent.core.dotenv_files import read_dotenv
from agent.core.settings import BadSettings, Settings, data_folder
from agent.propose.drafts import by_words, read_drafts
from demo.serving.access import PROXIES, Access, duplicate_link, is_public
from demo.serving.host import SessionHost
from llm import LlmError

if TYPE_CHECKING:
    from agent.loop.session import Session


def opened(settings: Settings) -> AbstractAsyncContextManager[Session]:
    """Opens a session with these settings; the import takes about a second."""
    from agent.loop.session import open_session

    return open_session(settings)


def address() -> tuple[str, int]:
    """Returns the host name and port of the server. Raises `BadSettings`."""
    default_host = "0.0.0.0" if "SPACE_ID" in os.environ else "127.0.0.1"
    name = os.environ.get("GRADIO_SERVER_NAME") or default_host
    port = os.environ.get("GRADIO_SERVER_PORT") or os.environ.get("PORT") or "7860"
    if not port.isdecimal() or not 0 < int(port) < 65_536:
        raise BadSettings(f"the port {port!r} is not a number from 1 to 65535")
    return name, int(port)


def served(settings: Settings, *, public: bool) -> Settings:
    """Returns the settings of the page. On a public page, visitors cannot use the host's API keys
    unless ALLOW_HOST_KEYS is set."""
    return settings.model_copy(update={"host_keys": settings.allow_host_keys or not public})


SPACE_MODEL = "Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF:qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"
"""The default model of a Space without a GPU. The front matter of the README makes the platform
download it when the Space is built."""


def with_local_model(settings: Settings, environment: Mapping[str, str]) -> Settings:
    """Adds a small local model to the settings of a Space without a GPU, model or key, so that it
    can write programs from words. Other settings do not change."""
    from agent.iteration.models import Models

    has_gpu = Path("/proc/driver/nvidia").exists()
    if "SPACE_ID" not in environment or has_gpu or settings.provider != "auto":
        return settings
    with suppress(LlmError):  # the page shows the error
        if not Models(settings).plan().has_model:
            options = {**settings.options, "GGUF_MODEL": SPACE_MODEL}
            return settings.model_copy(update={"options": options})
    return settings


def main() -> int:
    """Serves the page until it is interrupted; returns an exit code if it cannot be served."""
    try:
        # Only the .env file next to this file is trusted.
        read_dotenv(trusted=Path.cwd() == Path(__file__).parent.resolve())
        settings = Settings.from_env(
            # The page asks questions after a run, without pausing it.
            drafts=by_words(read_drafts()), ask=False,
        )
        name, port = address()
    except BadSettings as error:
        print(error, file=sys.stderr)
        return 2
    from demo.panels.measured import measured
    from demo.serving.server import serve
    from demo.web import MAX_PASTED, build

    if "SPACE_ID" in os.environ:
        os.environ.setdefault("FORWARDED_ALLOW_IPS", PROXIES)
    public = settings.share or is_public(name, os.environ)
    access = Access(public=public, allow_weak=settings.allow_weak)
    settings = served(with_local_model(settings, os.environ), public=access.public)
    host = SessionHost(lambda: opened(settings), access)
    try:
        serve(build(
            host, max_iterations=settings.max_iterations, autonomy=settings.autonomy_level,
            most_pasted=min(MAX_PASTED, settings.largest_input) if public else MAX_PASTED,
            # Visitors of a public page cannot run benchmarks; an empty tab would not help them.
            benchmarks=not public or bool(measured(data_folder(settings)[0])),
            duplicate=duplicate_link(os.environ),
        ), host, name, port, share=settings.share, settings=settings)
    except OSError as error:
        print(
            f"The page cannot be served at {name}:{port}: {error}\n"
            f"If another program uses this port, choose another one: PORT=7861 python app.py",
            file=sys.stderr,
        )
        return 2


if __name__ == "__main__":
    sys.exit(main())
