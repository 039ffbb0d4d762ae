"""`.env` files: one in a repository may not choose where code runs, where keys go or what is spent;
one named by `HEAL_ENV_FILE` or beside `app.py` may set anything."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from dotenv import dotenv_values

from agent.core.settings import BadSettings, Settings, table
from llm.provider import PROVIDERS

log = logging.getLogger("agent")
TRUSTED = "HEAL_ENV_FILE"
_GUARDED = {
    "ALLOW_HOST_KEYS", "HEAL_DATA_DIR", "HEAL_PRICES", "HEAL_PROMPTS", "HEAL_ROLE_BUDGETS",
    "HEAL_SANDBOX", "HEAL_SHARE", "HEAL_TRACE_CONTENT", "HF_LESSONS_REPO",
    "SANDBOX_ALLOW_WEAK",
}
_CAPS = {"HEAL_BUDGET_CALLS", "HEAL_BUDGET_TOKENS", "HEAL_BUDGET_USD"}
"""May be lowered."""
_NOT_SETTINGS = {
    "ALL_PROXY", "GRADIO_SERVER_NAME", "HTTPS_PROXY", "HTTP_PROXY", "LANGCHAIN_API_KEY",
    "LANGCHAIN_ENDPOINT", "LANGCHAIN_PROJECT", "LANGCHAIN_TRACING_V2", "LANGSMITH_API_KEY",
    "LANGSMITH_ENDPOINT", "LANGSMITH_TRACING", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE",
}
"""What libraries read."""
_KEYS = {row.key for row in PROVIDERS.values() if row.key} | {"DAYTONA_API_KEY", "E2B_API_KEY"}
_ADDRESSES = {
    setting.variable for row in PROVIDERS.values()
    for option, setting in row.settings.items() if option == "base_url"
}


def read_dotenv(path: Path = Path(".env"), *, trusted: bool = False) -> str:
    """Adds what `.env` files set and the environment does not; returns what was left out, in words.
    Raises `BadSettings` for a file that cannot be read, or a named one that is missing."""
    if named := os.environ.get(TRUSTED, "").strip():
        if not Path(named).expanduser().is_file():
            raise BadSettings(f"{TRUSTED}={named} is no file")
        _add(_values(Path(named).expanduser()))
    values = _values(path)
    if trusted:
        _add(values)
        return ""
    _add({name: values[name] for name in values if _may_set(name, values[name])})
    left = [name for name in values if _is_missed(name, values[name])]
    if not left:
        return ""
    return (
        f"{path} sets {', '.join(left)}, which is left out: a repository may not choose where code "
        f"runs, where keys go or what is spent. If the file is yours: {TRUSTED}={path}"
    )


def warn_of_dotenv() -> None:
    """The same for who has no terminal: what is left out goes to the log."""
    if left := read_dotenv():
        log.warning(left)


def _values(path: Path) -> dict[str, str]:
    try:
        return {name: value for name, value in dotenv_values(path).items() if value is not None}
    except (OSError, UnicodeDecodeError) as error:
        raise BadSettings(f"{path} cannot be read: {error}") from error


def _add(values: Mapping[str, str]) -> None:
    for name, value in values.items():
        os.environ.setdefault(name, value)


def _may_set(name: str, value: str) -> bool:
    if name in _CAPS:
        return _lowers(name, value)
    if name in _ADDRESSES:
        return not value.strip() or _is_here(value)
    return name in _KEYS or (name in _known() and name not in _GUARDED)


def _is_missed(name: str, value: str) -> bool:
    """What would have counted had it been set."""
    known = _known()
    return (
        name not in os.environ and value.strip() not in ("", known.get(name))
        and (name in known or name in _NOT_SETTINGS) and not _may_set(name, value)
    )


def _known() -> dict[str, str]:
    found = {one.name: one.shown for one in table()}
    aliases = {
        setting.alias: "" for row in PROVIDERS.values() for setting in row.settings.values()
        if setting.alias
    }
    return found | aliases


def _lowers(name: str, value: str) -> bool:
    usual = {str(one.validation_alias): one.default for one in Settings.model_fields.values()}
    try:
        return float(value or "0") <= float(usual[name])
    except ValueError:
        return True  # it is refused where it is read


def _is_here(address: str) -> bool:
    try:
        host = urlsplit(address if "//" in address else f"//{address}").hostname or ""
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
