"""Prompts are code: one YAML file per role, read strictly, rendered strictly.

A file has `role`, `version`, `system`, `user` and nothing else. `user` names its variables
in double braces, `{{code}}`, so that Python's own braces need no escaping.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import yaml

from llm.errors import BadPrompt

_KEYS = {"role", "version", "system", "user"}
_VARIABLE = re.compile(r"\{\{(\w+)\}\}")


@dataclass(frozen=True)
class Prompt:
    """A role's prompt."""

    role: str
    version: int
    system: str
    user: str

    @property
    def variables(self) -> frozenset[str]:
        return frozenset(_VARIABLE.findall(self.user))

    def render(self, variables: Mapping[str, object]) -> str:
        """The user message; raises `BadPrompt` when a variable is missing."""
        missing = sorted(self.variables - variables.keys())
        if missing:
            raise BadPrompt(f"the prompt {self.role!r} lacks a value for {', '.join(missing)}")
        return _VARIABLE.sub(lambda match: str(variables[match[1]]), self.user)


def load(folder: Path, role: str) -> Prompt:
    """The prompt in `folder/role.yaml`, read again once the file has changed; raises
    `BadPrompt` saying what is wrong with it."""
    path = folder / f"{role}.yaml"
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise BadPrompt(f"cannot read the prompt {path.name}: {error}") from error
    return _parsed(text, path, role)


@lru_cache(maxsize=64)
def _parsed(text: str, path: Path, role: str) -> Prompt:
    try:
        content = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise BadPrompt(f"cannot read the prompt {path.name}: {error}") from error
    if not isinstance(content, dict) or content.keys() != _KEYS:
        raise BadPrompt(f"the prompt {path.name} must have exactly the keys {sorted(_KEYS)}")
    if content["role"] != role or not isinstance(content["version"], int):
        raise BadPrompt(f"the prompt {path.name} must name its role and a whole version number")
    return Prompt(role, content["version"], str(content["system"]), str(content["user"]))
