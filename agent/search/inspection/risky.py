"""Finds calls that are risky with untrusted data.

Only direct calls by name are found; a text without findings may still be unsafe.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from agent.core.trees import is_parsable, nodes_of

_CODE = "runs text as code"
_SHELL = "passes text to a shell"
_BYTES = "creates any object from bytes, and may run code in them"
RISKY: dict[str, str] = {
    "eval": _CODE, "exec": _CODE, "compile": "compiles text to code",
    "os.system": _SHELL, "os.popen": _SHELL, "subprocess.getoutput": _SHELL,
    "subprocess.getstatusoutput": _SHELL, "asyncio.create_subprocess_shell": _SHELL,
    "pickle.load": _BYTES, "pickle.loads": _BYTES, "marshal.load": _BYTES, "marshal.loads": _BYTES,
    "yaml.unsafe_load": _BYTES,
    "shutil.rmtree": "deletes a folder with all that is in it",
    "tempfile.mktemp": "returns a name that another process may use first",
}
ARGUMENTS: dict[tuple[str, bool], str] = {
    ("shell", True): _SHELL, ("verify", False): "accepts any certificate",
}


@dataclass(frozen=True)
class Risk:
    """A risky call."""

    line: int
    call: str
    why: str


def risks(text: str) -> tuple[Risk, ...]:
    """The risky calls of a text by line; none if it does not parse."""
    if not is_parsable(text):
        return ()
    imported = _imported(text)
    found = []
    for node in nodes_of(text):
        if isinstance(node, ast.Call):
            name = _full_name(node.func, imported)
            whys = [RISKY[name]] if name in RISKY else [
                ARGUMENTS[key] for one in node.keywords
                if isinstance(one.value, ast.Constant) and isinstance(one.value.value, bool)
                and (key := (str(one.arg), one.value.value)) in ARGUMENTS
            ]
            found += [Risk(node.lineno, name or ast.unparse(node.func), why) for why in whys]
    return tuple(sorted(found, key=lambda one: one.line))


def _imported(text: str) -> dict[str, str]:
    """The full name of each imported name."""
    found = {}
    for node in nodes_of(text):
        if isinstance(node, ast.Import):
            for one in node.names:
                if one.asname:
                    found[one.asname] = one.name
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found |= {one.asname or one.name: f"{node.module}.{one.name}" for one in node.names}
    return found


def _full_name(function: ast.expr, imported: dict[str, str]) -> str:
    """A function's full name; empty if it has none."""
    parts = []
    while isinstance(function, ast.Attribute):
        parts.append(function.attr)
        function = function.value
    if not isinstance(function, ast.Name):
        return ""
    return ".".join([imported.get(function.id, function.id), *reversed(parts)])
