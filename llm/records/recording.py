"""A provider that is written down as it answers."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import asdict
from pathlib import Path

from llm.errors import LlmError
from llm.provider import Provider, estimated_tokens
from llm.questions import clean_question, fingerprint, text_address
from llm.records.calls import VERSION, write_error
from llm.records.file import append, writable
from llm.redaction import Redactor
from llm.types import Reply, Request, Stream


class Recording:
    """A provider whose conversations are added to a file as they end."""

    def __init__(
        self, provider: Provider, path: Path, redactor: Redactor | None = None
    ) -> None:
        """Raises `BadRecord` where the file cannot be written, before anything is asked."""
        self._provider = provider
        self.name = provider.name
        self.model = provider.model
        self.models = provider.models
        self.close = provider.close
        self._path = path
        self._redactor = redactor or Redactor()
        self._counted: set[str] = set()
        writable(path)

    @property
    def exact(self) -> bool:
        return self._provider.exact

    @property
    def window(self) -> int | None:
        return self._provider.window

    @property
    def thinks(self) -> bool:
        return self._provider.thinks

    async def stream(self, request: Request) -> Stream:
        began = time.monotonic()
        # What the question was made by; the answer may teach the provider better.
        known = {"exact": self.exact, "window": self.window, "thinks": self.thinks}
        pieces: list[str] = []
        offsets: list[float] = []
        end: dict[str, object] = {"left": "before its end"}
        reply: Reply | None = None
        try:
            async with aclosing(self._provider.stream(request)) as items:
                async for item in items:
                    if isinstance(item, Reply):
                        reply = item
                        break
                    pieces.append(item)
                    offsets.append(round(time.monotonic() - began, 4))
                    yield item
            if reply is None:
                raise AssertionError(f"{self.name} ended a stream without its reply")
            end = {"reply": asdict(reply)}
        except LlmError as error:
            end = {"error": write_error(error)}
            raise
        finally:
            self._write(request, pieces, offsets, {**end, **known})
        yield reply

    def count(self, text: str) -> int:
        tokens = self._provider.count(text)
        address = text_address(text)
        if tokens != estimated_tokens(text) and address not in self._counted:
            self._counted.add(address)
            self._line("count", {
                "provider": self.name, "model": self.model, "text": address, "tokens": tokens,
            })
        return tokens

    def _write(
        self, request: Request, pieces: list[str], offsets: list[float], end: dict[str, object]
    ) -> None:
        asked_for = clean_question(self.name, self.model, request, self._redactor)
        clean = self._redactor.pieces(pieces)
        if len(clean) != len(pieces):
            offsets = offsets[-1:]
        self._line("call", {
            "key": fingerprint(asked_for),
            "request": asked_for,
            "deltas": [list(pair) for pair in zip(offsets, clean, strict=True)],
            **end,
        })

    def _line(self, kind: str, content: Mapping[str, object]) -> None:
        line = self._redactor.value({"version": VERSION, "kind": kind, **content})
        append(self._path, f"{json.dumps(line)}\n".encode("ascii"))
