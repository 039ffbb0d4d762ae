"""The web door: reads the settings, builds the page and serves it."""

from __future__ import annotations

import os
import sys
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")

from agent.core.settings import BadSettings, Settings
from agent.doors.dotenv import read_dotenv
from agent.thinking.drafts import by_words, read_drafts
from demo.access import Access, is_public
from demo.host import Host

if TYPE_CHECKING:
    from agent.run.session import Session


def opened(settings: Settings) -> AbstractAsyncContextManager[Session]:
    """A session with these settings; the import takes about a second."""
    from agent.run.session import open_session

    return open_session(settings)


def address() -> tuple[str, int]:
    """The host name and the port to serve at; raises `BadSettings`."""
    everywhere = "0.0.0.0" if "SPACE_ID" in os.environ else "127.0.0.1"
    name = os.environ.get("GRADIO_SERVER_NAME") or everywhere
    port = os.environ.get("GRADIO_SERVER_PORT") or os.environ.get("PORT") or "7860"
    if not port.isdecimal() or not 0 < int(port) < 65_536:
        raise BadSettings(f"the port {port!r} is no number from 1 to 65535")
    return name, int(port)


def served(settings: Settings, *, public: bool) -> Settings:
    """The settings of a page: on one that others can reach the host's own keys serve no visitor,
    unless ALLOW_HOST_KEYS says so."""
    return settings.model_copy(update={"host_keys": settings.allow_host_keys or not public})


def main() -> int:
    """Serves the page until it is interrupted; returns the exit code."""
    try:
        read_dotenv()
        settings = Settings.from_env(
            # The page asks when a run has ended, and holds none up.
            drafts=by_words(read_drafts()), ask=False,
        )
        name, port = address()
    except BadSettings as error:
        print(error, file=sys.stderr)
        return 2
    from demo.web import build, serve

    access = Access(public=is_public(name, os.environ), allow_weak=settings.allow_weak)
    settings = served(settings, public=access.public)
    host = Host(lambda: opened(settings), access)
    if "SPACES_ZERO_GPU" in os.environ:
        # Such a space must see, before it starts, that a GPU will be borrowed.
        from llm.providers.huggingface.host import this_process

        this_process()
    try:
        serve(build(
            host, max_iterations=settings.max_iterations, autonomy=settings.autonomy_level,
        ), host, name, port)
    except OSError as error:
        print(
            f"The page cannot be served at {name}:{port}: {error}\n"
            f"If another program uses that port, choose one: PORT=7861 python app.py",
            file=sys.stderr,
        )
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
