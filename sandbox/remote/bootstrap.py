"""The bootstrap script of a sandbox and the source files that it reads: the supervisor with its
backend."""

from __future__ import annotations

import base64
import marshal
import shlex
import zlib
from functools import cache
from pathlib import Path

from sandbox import __name__ as PACKAGE

SUPERVISOR = f"{PACKAGE}.remote.supervisor"
LEAST_PYTHON = (3, 11)

_SUPERVISOR_SOURCES = (
    "__init__.py", "types.py", "sandbox.py", "levels.py", "strongest.py",
    "workspaces.py", "subprocess_backend.py", "protocol/*.py", "inside/__init__.py",
    "inside/guest.py", "inside/removal.py", "remote/__init__.py", "remote/line.py",
    "remote/supervisor.py",
)
"""All files that the supervisor imports, and the guest, which is compiled there."""

_BOOTSTRAP = """\
import sys
if sys.version_info < {least}:
    sys.exit("Python {words} or later is needed in the sandbox, and this is " + sys.version)
import base64, marshal, os, tempfile, zlib
pieces = []
for line in sys.stdin:
    if line[:6] in ("@jail+", "@jail."):
        pieces.append(line[6:].strip())
        if line[5] == ".":
            break
folder = tempfile.mkdtemp(prefix="code-supervisor-")
files = marshal.loads(zlib.decompress(base64.b64decode("".join(pieces))))
for path, text in files.items():
    target = os.path.join(folder, path)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    with open(target, "w", encoding="utf-8") as file:
        file.write(text)
sys.path.insert(0, folder)
from {supervisor} import main
main(folder)
"""


def bootstrap_command() -> list[str]:
    """The arguments of the command that reads the source files from its standard input."""
    words = ".".join(map(str, LEAST_PYTHON))
    text = _BOOTSTRAP.format(least=LEAST_PYTHON, words=words, supervisor=SUPERVISOR)
    # Isolated mode: its folder and environment do not affect imports.
    return ["python3", "-I", "-B", "-c", text]


def bootstrap_shell_command() -> str:
    """The same command for a shell."""
    return shlex.join(bootstrap_command())


@cache
def encoded_sources() -> str:
    """The message with the source files that the bootstrap script reads."""
    package, top = Path(__file__).parent.parent, Path(*PACKAGE.split("."))
    files = {
        str(top / path.relative_to(package)): path.read_text(encoding="utf-8")
        for name in _SUPERVISOR_SOURCES for path in sorted(package.glob(name))
    }
    return base64.b64encode(zlib.compress(marshal.dumps(files), 9)).decode()
