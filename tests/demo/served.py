"""The page as it ships, served by a process of its own and asked as programs ask it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any
from uuid import uuid4

import httpx

LONG = {"code": "import time\n\ndef f(n):\n    time.sleep(200)\n", "tests": "assert f(1) == 2"}
"""What is judged for longer than a test lasts, and keeps no processor busy."""
WRONG = "def add(a, b):\n    return a - b\n"
RIGHT = "assert add(2, 3) == 5"


class Program:
    """Asks a served page by its named endpoints; to be used as a context."""

    def __init__(self, home: str, **headers: str) -> None:
        self.client = httpx.Client(base_url=home, timeout=120, headers=headers)

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *_: object) -> None:
        self.client.close()

    def ask(self, verb: str, **values: Any) -> Iterator[Any]:
        """What an endpoint tells, as it comes; a refusal is raised."""
        begun = self.client.post(f"gradio_api/call/v2/{verb}", json=values)
        begun.raise_for_status()
        with self.client.stream(
            "GET", f"gradio_api/call/{verb}/{begun.json()['event_id']}"
        ) as told:
            kind = ""
            for line in told.iter_lines():
                name, _, value = line.partition(": ")
                if name == "event":
                    kind = value
                elif name == "data" and kind in ("generating", "complete"):
                    yield json.loads(value)[0] if value != "null" else None
                elif name == "data" and kind == "error":
                    raise Refused(value)

    def last(self, verb: str, **values: Any) -> Any:
        """The last that it tells."""
        told = None
        for one in self.ask(verb, **values):
            told = one if one is not None else told
        return told


class Stranger(Program):
    """Tries everything that a page's address offers, as somebody who has read its source."""

    def __init__(self, home: str, **headers: str) -> None:
        super().__init__(home, **headers)
        self.client.get("")  # and the cookie that comes with it
        self.page = self.client.get("config").json()

    def everything(self, told: dict[str, Any]) -> Iterator[tuple[str, str]]:
        """What each act of the page answers, by its name, where the parts that it reads hold what
        is told of them by their names."""
        parts = {one["id"]: one["props"] for one in self.page["components"]}
        for act in self.page["dependencies"]:
            of = parts.get(act["targets"][0][0] if act["targets"] else None, {})
            if not act["backend_fn"] or of.get("elem_id") == "linger":  # which waits with a run
                continue
            values = [told.get(parts[part].get("elem_id"), parts[part].get("value"))
                      for part in act["inputs"]]
            yield f"{act['id']} {act['api_name']}", self.acted(act, values)

    def acted(self, act: dict[str, Any], values: list[Any]) -> str:
        """All that one act tells."""
        body = {"fn_index": act["id"], "data": values, "session_hash": uuid4().hex[:11]}
        if not act["queue"]:
            return self.client.post("gradio_api/run/predict", json=body).text
        joined = self.client.post("gradio_api/queue/join", json=body)
        if joined.is_error:
            return joined.text
        told = []
        query = {"session_hash": body["session_hash"]}
        with self.client.stream("GET", "gradio_api/queue/data", params=query) as stream:
            for line in stream.iter_lines():
                told.append(line)
                if '"process_completed"' in line or '"close_stream"' in line:
                    break
        return "\n".join(told)

    def pages(self) -> Iterator[tuple[str, str]]:
        """What stands at every address that the server's library knows, open here or not."""
        for path in (
            "", "config", "healthz", "readyz", "monitoring", "monitoring/summary",
            "gradio_api/info",
            "gradio_api/openapi.json", "gradio_api/queue/status", "gradio_api/startup-events",
            "gradio_api/app_id", "gradio_api/heal/none/log", "gradio_api/heal/%/log",
            "gradio_api/heal/..%2f..%2fruns.db/log", "gradio_api/file=runs.db",
            "gradio_api/runs", "gradio_api/run-history/records", "gradio_api/token",
            "gradio_api/proxy=http://127.0.0.1/", "gradio_api/dev/reload",
            "gradio_api/queue/data?session_hash=guessed", "gradio_api/call/runs/guessed",
            "gradio_api/profiling/traces", "static/../../runs.db", "assets/..%2f..%2fapp.py",
        ):
            with self.client.stream("GET", path) as answer:
                told = [path, str(answer.status_code), str(answer.headers)]
                # The library breaks off in the middle where it knows no such event.
                with suppress(httpx.RemoteProtocolError):
                    for line in answer.iter_lines():
                        told.append(line)
                        if "session_not_found" in line or "heartbeat" in line:
                            break
            yield path, "\n".join(told)


class Refused(Exception):
    """What the page says in place of an answer."""
