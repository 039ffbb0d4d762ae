"""Who asks, as their request tells: a random word in a cookie that no script reads, and an address.

A browser that keeps no cookie here, as one that shows the page in another site's frame may, keeps
its word in its own storage and sends it along, as a program does. Whoever knows a word is its
visitor; on a page that only this machine reaches there is one visitor, the owner. Pure.
"""

from __future__ import annotations

import ipaddress
import re
import secrets
from collections.abc import Mapping
from http.cookies import CookieError, SimpleCookie
from typing import Any, Protocol

from demo.browser_state import NEW_VISIT, Visit

COOKIE = "heal_visitor"
LEAST_WORD = 16
"""Characters of a word: a shorter one can be guessed, and is nobody's."""
KEPT_S = 365 * 24 * 3600
_WORD = re.compile(rf"[\w-]{{{LEAST_WORD},200}}", re.ASCII)
LEAST_DIFFERENT = 8
"""Different characters of a word: one of fewer is repeated letters."""
_ROWS = "abcdefghijklmnopqrstuvwxyz 01234567890 qwertyuiop asdfghjkl zxcvbnm"
"""Where letters and digits stand side by side."""
_SHOWN = "some-random-letters-of-yours"
"""What an earlier page had everybody paste."""


class VisitorRequest(Protocol):
    """What is read of a request; Gradio's own is one."""

    headers: Any  # a mapping by names in small letters, of the server's library
    client: Any  # with `host`, or `None`


def new_word() -> str:
    """A word that nobody guesses."""
    return secrets.token_urlsafe(24)


def is_word(text: str) -> bool:
    """Whether a text can be a visitor's word: it is long enough, and nothing that people think of
    first."""
    low = text.lower()
    rows = f"{_ROWS} {_ROWS[::-1]}"
    beside = sum(low[at : at + 2] in rows for at in range(len(low) - 1))
    guessed = len({*low}) < LEAST_DIFFERENT or 2 * beside > len(low) or low == _SHOWN
    return _WORD.fullmatch(text) is not None and not guessed


def same_site(headers: Mapping[str, str]) -> bool:
    """Whether a request comes from this page or from no page at all: another site's page can make a
    browser ask here, with its cookie."""
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site in ("same-origin", "none")
    origin = headers.get("origin")
    hosts = (headers.get("host"), headers.get("x-forwarded-host"))
    return origin is None or origin.partition("://")[2] in hosts


def word_of(headers: Mapping[str, str]) -> str:
    """The word in a request's cookie; empty where there is none that counts."""
    return word_kept(headers) if same_site(headers) else ""


def word_kept(headers: Mapping[str, str]) -> str:
    """The word that a browser keeps, whoever has it ask; empty where there is none."""
    try:
        kept = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return ""
    word = kept.value if kept is not None else ""
    return word if is_word(word) else ""


def cookie(word: str, *, secure: bool) -> str:
    """The header that has a browser keep a word. By https it is kept in another site's frame too,
    where a Space is shown, and for that frame alone."""
    site = "SameSite=None; Partitioned; Secure" if secure else "SameSite=Lax"
    return f"{COOKIE}={word}; Path=/; Max-Age={KEPT_S}; HttpOnly; {site}"


def network(address: str) -> str:
    """Where an address belongs: itself, or what one household has of the new kind; empty for what
    is none."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return ""
    if found.version == 6 and found.ipv4_mapped is None:
        return str(ipaddress.ip_network((found, 64), strict=False))
    return str(found)


def visiting(request: VisitorRequest, told: object) -> Visit:
    """The visit that a browser tells, by the word in its cookie where it keeps one; whatever else
    it may say of itself."""
    said = told if isinstance(told, dict) else {}
    visit: Visit = {**NEW_VISIT}
    for name in ("visitor", "provider", "model", "roles"):
        if isinstance(said.get(name), str):
            visit[name] = said[name]
    visit["visitor"] = word_of(request.headers) or visit["visitor"]
    visit["address"] = address_of(request)
    return visit


def address_of(request: VisitorRequest) -> str:
    """Where a request comes from."""
    return network(request.client.host) if request.client else ""


def to_keep(visit: Visit, request: VisitorRequest) -> Visit:
    """What a browser's storage is given of a visit: no word where a cookie has it."""
    known = bool(word_of(request.headers))
    return {**visit, "visitor": "" if known else visit["visitor"], "address": ""}
