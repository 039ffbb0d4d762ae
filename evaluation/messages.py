"""Lists the user-visible messages in the source: `python -m evaluation.messages`.

A message is a string of three words or more, other than a docstring, in one of `PACKAGES`.
`--sample N` prints N of them, the same ones for the same `--seed`; `--long` those with more than
three sentences.
"""

from __future__ import annotations

import argparse
import ast
import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
PACKAGES = ("agent", "demo", "llm", "sandbox")
EXCLUDED_PATHS = (
    "/programs/", "/cases/", "sandbox/attacks/", "sandbox/contract/", "sandbox/inside/",
    "agent/propose/wording.py", "agent/interfaces/servers/mcp_server.py",
    "agent/interfaces/servers/language_server.py",
    "agent/interfaces/reference_docs.py", "agent/core/sqlite.py", "agent/memory/file.py",
)
"""Excluded: code that runs in a jail, texts for models and agents, reference docs, and SQL."""
MAX_SENTENCES = 3
_WORDS = re.compile(r"[A-Za-z]{2,}[^\w<>]? +[\w{`'\"-]+[^\w<>]? +[A-Za-z{`]")
_CODE = re.compile(r"\\[bdsw(]|\(\?|^\s*<\w+[^>]*>$|SELECT |def \w+\(|^import ")
SENTENCE = re.compile(r"[.!?](?:\s|$)")


class UserMessage(NamedTuple):
    """A text, with the file and line where it begins."""

    file: str
    line: int
    text: str


def messages(file: str, source: str) -> Iterator[UserMessage]:
    """The messages in the source of one module; values put into them are shown as `{…}`."""
    tree = ast.parse(source)
    inner = {
        id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)
        for part in ast.walk(node) if part is not node
    }
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    found = [
        UserMessage(file, getattr(node, "lineno", 0), " ".join(text.split()))
        for node in ast.walk(tree) if id(node) not in inner | docstrings
        and _WORDS.search(text := _text(node)) and not _CODE.search(text)
    ]
    yield from sorted(found, key=lambda one: one.line)


def _text(node: ast.AST) -> str:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part) or "{…}" for part in node.values)
    return ""


def all_messages() -> list[UserMessage]:
    """The messages of all packages, in the order of their files."""
    return [
        one for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))
        if not any(part in (name := path.relative_to(ROOT).as_posix()) for part in EXCLUDED_PATHS)
        for one in messages(name, path.read_text("utf-8"))
    ]


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m evaluation.messages", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--sample", type=int, metavar="N")
    parser.add_argument("--seed", type=int, default=0, metavar="N")
    parser.add_argument("--long", action="store_true", help="only those over three sentences")
    wanted = parser.parse_args()
    found = all_messages()
    if wanted.long:
        found = [one for one in found if len(SENTENCE.findall(one.text)) > MAX_SENTENCES]
    if wanted.sample is not None:
        found = random.Random(wanted.seed).sample(found, min(wanted.sample, len(found)))
    for one in found:
        print(f"{one.file}:{one.line}: {one.text}")
    print(f"{len(found)} messages", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
