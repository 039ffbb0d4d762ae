"""What a program's tests and messages say, with its file called as a pasted program is.

The same program in another file is the same program: only its own module's name differs, where
tests import it, and where messages tell of it.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from agent.intake.task import PASTED

_IMPORT = re.compile(r"^[ \t]*(?:from|import)[ \t].*$", re.MULTILINE)


def nameless_test(code: str, entry: str) -> str:
    """A test's code: imports of the program, and what is read of it by its name."""
    name = _module(entry)
    if not re.search(rf"\b{re.escape(name)}\b", code):
        return code
    word = re.compile(rf"(?<![\w.]){re.escape(name)}(?!\w)")
    imported = any(word.search(line) for line in _IMPORT.findall(code))
    renamed = _IMPORT.sub(lambda line: word.sub(_module(PASTED), line[0]), code)
    return _read_of(name).sub(_module(PASTED), renamed) if imported else renamed


def nameless_message(message: str, entry: str) -> str:
    """A message: the file with or without its folder, the module, and names qualified by it."""
    name = re.escape(_module(entry))
    message = re.sub(rf"(?:[\w.-]*[/\\])+(?={name}\.py\b)", "", message)
    message = re.sub(rf"(\b(?:module|from|named) ['\"]){name}(?=['\"])",
                     rf"\g<1>{_module(PASTED)}", message)
    return _read_of(_module(entry)).sub(_module(PASTED), message)


def _read_of(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w.]){re.escape(name)}(?=\.\w)")


def _module(entry: str) -> str:
    return PurePosixPath(entry).stem
