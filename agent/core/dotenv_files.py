"""Reads `.env` files into the environment.

A file in a repository may not choose where code runs, where keys go or what is spent. A file named
by `HEAL_ENV_FILE` or next to `app.py` may set anything.
"""

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
ENV_FILE = "HEAL_ENV_FILE"
_GUARDED = {
    "ALLOW_HOST_KEYS", "HEAL_DATA_DIR", "HEAL_PRICES", "HEAL_PROMPTS", "HEAL_ROLE_BUDGETS",
    "HEAL_SANDBOX", "HEAL_SHARE", "HEAL_TRACE_CONTENT", "HF_LESSONS_REPO",
    "SANDBOX_ALLOW_WEAK",
}
_CAPS = {"HEAL_BUDGET_CALLS", "HEAL_BUDGET_TOKENS", "HEAL_BUDGET_USD"}
"""Settings that an untrusted file may lower but not raise."""
_NOT_SETTINGS = {
    "ALL_PROXY", "GRADIO_SERVER_NAME", "HTTPS_PROXY", "HTTP_PROXY", "LANGCHAIN_API_KEY",
    "LANGCHAIN_ENDPOINT", "LANGCHAIN_PROJECT", "LANGCHAIN_TRACING_V2", "LANGSMITH_API_KEY",
    "LANGSMITH_ENDPOINT", "LANGSMITH_TRACING", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE",
}
"""Variables that libraries read."""
_KEYS = {row.key for row in PROVIDERS.values() if row.key} | {"DAYTONA_API_KEY", "E2B_API_KEY"}
_ADDRESSES = {
    setting.variable for row in PROVIDERS.values()
    for option, setting in row.settings.items() if option == "base_url"
}


def read_dotenv(path: Path = Path(".env"), *, trusted: bool = False) -> str:
    """Adds variables from `.env` files that the environment does not set.

    Returns:
        A warning that names the ignored variables; empty where there are none.

    Raises:
        BadSettings: A file cannot be read, or the file named by `HEAL_ENV_FILE` is missing.
    """
    if named := os.environ.get(ENV_FILE, "").strip():
        if not Path(named).expanduser().is_file():
            raise BadSettings(f"{ENV_FILE}={named} is not a file. Correct the path or unset it.")
        _set_missing_variables(_values(Path(named).expanduser()))
    values = _values(path)
    if trusted:
        _set_missing_variables(values)
        return ""
    _set_missing_variables({name: values[name] for name in values if _may_set(name, values[name])})
    ignored = [name for name in values if _is_ignored(name, values[name])]
    if not ignored:
        return ""
    return (
        f"{path} sets {', '.join(ignored)}, which is ignored: a repository may not choose where "
        f"code runs, where keys go or what is spent. If you trust the file, set {ENV_FILE}={path}"
    )


def warn_of_dotenv() -> None:
    """Reads `.env` files and logs the warning, for interfaces without a terminal."""
    if warning := read_dotenv():
        log.warning(warning)


def _values(path: Path) -> dict[str, str]:
    try:
        return {name: value for name, value in dotenv_values(path).items() if value is not None}
    except (OSError, UnicodeDecodeError) as error:
        raise BadSettings(f"{path} cannot be read: {error}. Correct or remove it.") from error


def _set_missing_variables(values: Mapping[str, str]) -> None:
    for name, value in values.items():
        os.environ.setdefault(name, value)


def _may_set(name: str, value: str) -> bool:
    if name in _CAPS:
        return _lowers(name, value)
    if name in _ADDRESSES:
        return not value.strip() or _is_loopback(value)
    return name in _KEYS or (name in _default_values() and name not in _GUARDED)


def _is_ignored(name: str, value: str) -> bool:
    """Whether an untrusted file sets a variable that would have an effect."""
    known = _default_values()
    return (
        name not in os.environ and value.strip() not in ("", known.get(name))
        and (name in known or name in _NOT_SETTINGS) and not _may_set(name, value)
    )


def _default_values() -> dict[str, str]:
    found = {one.name: one.shown for one in table()}
    aliases = {
        setting.alias: "" for row in PROVIDERS.values() for setting in row.settings.values()
        if setting.alias
    }
    return found | aliases


def _lowers(name: str, value: str) -> bool:
    defaults = {str(one.validation_alias): one.default for one in Settings.model_fields.values()}
    try:
        return float(value or "0") <= float(defaults[name])
    except ValueError:
        return True  # rejected later, when the settings are read


def _is_loopback(address: str) -> bool:
    try:
        host = urlsplit(address if "//" in address else f"//{address}").hostname or ""
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
