"""Identifies visitors by a random token in an HTTP-only cookie, and by their address.

A browser without cookies, for example in a frame of another site, saves the token in its storage
and sends it with requests, as programs do. Each holder of a token is its visitor; on a local
page the only visitor is the owner. Pure functions.
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
SHORTEST_TOKEN = 16
"""Minimum characters of a token; shorter ones could be guessed."""
KEPT_S = 365 * 24 * 3600
_TOKEN = re.compile(rf"[\w-]{{{SHORTEST_TOKEN},200}}", re.ASCII)
LEAST_DIFFERENT = 8
"""Minimum number of different characters of a token."""
_ROWS = "abcdefghijklmnopqrstuvwxyz 01234567890 qwertyuiop asdfghjkl zxcvbnm"
"""Common sequences of characters."""
_SHOWN = "some-random-letters-of-yours"
"""A placeholder that an earlier page showed to all visitors."""


class VisitorRequest(Protocol):
    """The needed attributes of a request, such as Gradio's."""

    headers: Any  # a mapping with lower-case names
    client: Any  # with `host`, or `None`


def new_token() -> str:
    return secrets.token_urlsafe(24)


def is_token(text: str) -> bool:
    """Whether a text can be a token: long enough and not easy to guess."""
    low = text.lower()
    rows = f"{_ROWS} {_ROWS[::-1]}"
    adjacent = sum(low[at : at + 2] in rows for at in range(len(low) - 1))
    is_weak = len({*low}) < LEAST_DIFFERENT or 2 * adjacent > len(low) or low == _SHOWN
    return _TOKEN.fullmatch(text) is not None and not is_weak


def same_site(headers: Mapping[str, str]) -> bool:
    """Whether a request comes from this page or from a program. A page of another site can make a
    browser send requests with this page's cookie."""
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site in ("same-origin", "none")
    origin = headers.get("origin")
    hosts = (headers.get("host"), headers.get("x-forwarded-host"))
    return origin is None or origin.partition("://")[2] in hosts


def visitor_token(headers: Mapping[str, str]) -> str:
    """Returns the token in the cookie of a request from this page; else empty."""
    return cookie_token(headers) if same_site(headers) else ""


def cookie_token(headers: Mapping[str, str]) -> str:
    """Returns the token in a request's cookie, from any site; else empty."""
    try:
        saved = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return ""
    token = saved.value if saved is not None else ""
    return token if is_token(token) else ""


def cookie(token: str, *, secure: bool) -> str:
    """Returns the header that saves a token in a cookie. With https it also works in a frame of
    another site, as on a Space, and is limited to that frame."""
    site = "SameSite=None; Partitioned; Secure" if secure else "SameSite=Lax"
    return f"{COOKIE}={token}; Path=/; Max-Age={KEPT_S}; HttpOnly; {site}"


def network(address: str) -> str:
    """Returns an IPv4 address itself, the /64 network of an IPv6 address, or empty if invalid."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return ""
    if found.version == 6 and found.ipv4_mapped is None:
        return str(ipaddress.ip_network((found, 64), strict=False))
    return str(found)


def visiting(request: VisitorRequest, value: object) -> Visit:
    """Reads a visit from a browser's value; a token in the cookie overrides that in the value."""
    saved = value if isinstance(value, dict) else {}
    visit: Visit = {**NEW_VISIT}
    for name in ("visitor", "provider", "model", "roles"):
        if isinstance(saved.get(name), str):
            visit[name] = saved[name]
    visit["visitor"] = visitor_token(request.headers) or visit["visitor"]
    visit["address"] = address_of(request)
    return visit


def address_of(request: VisitorRequest) -> str:
    return network(request.client.host) if request.client else ""


def visit_to_save(visit: Visit, request: VisitorRequest) -> Visit:
    """Returns the visit for the browser's storage, without a token if the cookie has it."""
    known = bool(visitor_token(request.headers))
    return {**visit, "visitor": "" if known else visit["visitor"], "address": ""}
