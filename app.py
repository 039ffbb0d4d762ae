"""The web door: reads the settings, builds the page and serves it."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")

from agent.core.settings import BadSettings, Settings
from agent.doors.dotenv import read_dotenv
from agent.thinking.drafts import by_words, read_drafts
from demo.host import Engine, Host
from demo.strangers import Access, is_public


def find_engine(settings: Settings) -> Engine:
    """The engine with these settings; the import takes about a second."""
    from agent.intake import BadInput, NotFixable, from_page
    from agent.run.session import NoProvider, Session, open_session
    from llm import LlmError
    from sandbox import SandboxError

    @asynccontextmanager
    async def opened() -> AsyncIterator[Session]:
        async with open_session(settings) as session:
            with suppress(NoProvider):  # the page says so where it shows the plan
                await session.models.warm()
            yield session

    return Engine(
        open=opened,
        from_page=from_page,
        refusals=(BadInput, NotFixable),
        faults=(BadSettings, LlmError, SandboxError),
    )


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

    door = Access(public=is_public(name, os.environ), allow_weak=settings.allow_weak)
    settings = served(settings, public=door.public)
    host = Host(lambda: find_engine(settings), door)
    if "SPACES_ZERO_GPU" in os.environ:
        # Such a space must see, before it starts, that a GPU will be borrowed.
        from llm.providers.huggingface.host import this_process

        this_process()
    try:
        serve(build(host, max_iterations=settings.max_iterations), host, name, port)
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
