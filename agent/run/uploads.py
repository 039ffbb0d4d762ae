"""Uploads of steps to LangSmith: only with `LANGCHAIN_TRACING_V2=true` and `LANGCHAIN_API_KEY`,
whatever else LangGraph reads. Names, times and order of steps are uploaded, and of an error its
class; the rest only where `content` is wanted, without secrets."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agent.core.settings import BadSettings
from llm.redaction import Redactor

if TYPE_CHECKING:
    from langsmith import Client

PROJECT = "self-healing-agent"
ENDPOINT = "https://api.smith.langchain.com"
_ENDPOINTS = ("LANGCHAIN_ENDPOINT", "LANGSMITH_ENDPOINT")
_LAST_S = 5.0
_OBSOLETE = ("LANGCHAIN_TRACING", "LANGCHAIN_HANDLER")
_OFF = {"", "0", "false", "False"}
_CLASS = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True)
class Uploads:
    """Whether and where the steps of runs are uploaded."""

    client: Client | None = None
    project: str = PROJECT

    @contextmanager
    def around(self) -> Iterator[None]:
        """Holds for all that is run within the block, and for no other code of the process."""
        from langsmith.run_helpers import tracing_context

        # No parent: it would bring the client of whoever traces the program that we are part of.
        with tracing_context(
            enabled=self.client is not None, client=self.client, parent=False, replicas=[],
            project_name=self.project if self.client is not None else None,
        ):
            yield

    def close(self) -> None:
        """Sends what waits, for a few seconds at most, and ends the client's threads."""
        if self.client is not None:
            self.client.close(timeout=_LAST_S)


def uploads(
    environment: Mapping[str, str], *, content: bool = False,
    redactor: Callable[[], Redactor] = Redactor,
) -> Uploads:
    """What the environment asks for; `redactor` knows the current keys. Raises: BadSettings."""
    wanted = environment.get("LANGCHAIN_TRACING_V2", "").strip().lower() == "true"
    key = environment.get("LANGCHAIN_API_KEY", "").strip()
    if not (wanted and key):
        obsolete = [name for name in _OBSOLETE if environment.get(name, "") not in _OFF]
        if obsolete:
            # LangGraph raises a bare RuntimeError in the first step of each run.
            raise BadSettings(
                f"{obsolete[0]} belongs to a tracing that LangChain no longer has, and LangGraph "
                "refuses to run with it: unset it"
            )
        return Uploads()
    from langsmith import Client
    from langsmith.utils import LangSmithError

    try:
        client = Client(
            api_url=address(environment),
            api_key=key,
            hide_inputs=not content,
            hide_outputs=not content,
            anonymizer=_cleaning(Redactor([key]), redactor, content),
            omit_traced_runtime_info=True,
            tracing_mode="langsmith",
        )
    except LangSmithError as error:
        raise BadSettings(f"LangSmith cannot be used: {error}") from error
    return Uploads(client, environment.get("LANGCHAIN_PROJECT", "").strip() or PROJECT)


def address(environment: Mapping[str, str]) -> str:
    """Where uploads go: LangSmith's own server, or the one that is named."""
    named = (environment.get(name, "").strip() for name in _ENDPOINTS)
    return next(filter(None, named), ENDPOINT)


def _cleaning(
    own: Redactor, of_the_moment: Callable[[], Redactor], content: bool
) -> Callable[[dict[str, Any]], dict[str, Any]]:  # the client's own signature
    def cleaned(part: dict[str, Any]) -> dict[str, Any]:
        if part.keys() == {"error"} and not content:
            # `NameError("...")Traceback ...`: what is quoted in it may be the program.
            found = _CLASS.match(str(part["error"]))
            return {"error": found[0] if found else "error"}
        redactor = of_the_moment()
        return {
            redactor.text(own.text(name)): redactor.value(own.value(value))
            for name, value in part.items() if not name.startswith("LANG")
        }

    return cleaned
