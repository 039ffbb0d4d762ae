"""Signing in on a Space, with a server of our own in the place of Hugging Face's."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import threading
import time
import urllib.parse
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.demo.apart import free_port, serving

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.nightly]

SECRET = "of-the-space-0123456789-0123456789"
TOKEN = "hf_oauth_of-the-visitor"


def _part(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()


class Provider(ThreadingHTTPServer):
    """Says who anybody is, by a page that needs no click."""

    def __init__(self, space: str) -> None:
        super().__init__(("127.0.0.1", 0), _Answers)
        self.space, self.address = space, f"http://127.0.0.1:{self.server_port}"
        self.nonce = ""
        self.scopes: list[str] = []

    def identity(self) -> str:
        """A token that says who has signed in, signed with the Space's secret."""
        now = int(time.time())
        head = {"alg": "HS256", "typ": "JWT"}
        body = {
            "iss": self.address, "sub": "1", "aud": "client", "iat": now, "exp": now + 600,
            "nonce": self.nonce, "name": "A Visitor", "preferred_username": "visitor",
            "profile": self.address, "picture": "",
        }
        signed = ".".join(_part(json.dumps(one).encode()) for one in (head, body))
        mark = hmac.new(SECRET.encode(), signed.encode(), hashlib.sha256).digest()
        return f"{signed}.{_part(mark)}"


class _Answers(BaseHTTPRequestHandler):
    server: Provider

    def do_GET(self) -> None:
        place = urllib.parse.urlsplit(self.path)
        asked = dict(urllib.parse.parse_qsl(place.query))
        at = self.server.address
        if place.path == "/authorize":
            self.server.nonce = asked["nonce"]
            self.server.scopes.append(asked["scope"])
            back = urllib.parse.urlsplit(asked["redirect_uri"])
            given = urllib.parse.urlencode({"code": "c", "state": asked["state"]})
            self.send_response(302)
            # Here the Space has no certificate, and its address begins with http.
            self.send_header("Location", f"{self.server.space}{back.path}?{back.query}&{given}")
            self.end_headers()
        elif place.path == "/keys":
            key = {"kty": "oct", "k": _part(SECRET.encode()), "alg": "HS256"}
            self._told({"keys": [key]})
        else:
            self._told({
                "issuer": at, "authorization_endpoint": f"{at}/authorize",
                "token_endpoint": f"{at}/token", "jwks_uri": f"{at}/keys",
                "id_token_signing_alg_values_supported": ["HS256"],
            })

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self._told({
            "access_token": TOKEN, "token_type": "bearer", "expires_in": 600,
            "scope": "openid profile inference-api", "id_token": self.server.identity(),
        })

    def _told(self, said: object) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(said).encode())

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def space(tmp_path: Path) -> Iterator[tuple[str, Provider]]:
    """The address of a Space that has sign-in, and who says there who somebody is."""
    for needed in ("authlib", "itsdangerous"):
        if find_spec(needed) is None:
            pytest.skip(f"{needed} comes with the extra `test`")
    port = free_port()
    provider = Provider(f"http://127.0.0.1:{port}")
    threading.Thread(target=provider.serve_forever, daemon=True).start()
    environment = {
        "PORT": str(port), "HEAL_DATA_DIR": str(tmp_path), "LLM_PROVIDER": "auto",
        "SYSTEM": "spaces", "SPACE_ID": "owner/space", "SPACE_HOST": f"127.0.0.1:{port}",
        "OAUTH_CLIENT_ID": "client", "OAUTH_CLIENT_SECRET": SECRET,
        "OAUTH_SCOPES": "openid profile inference-api", "OPENID_PROVIDER_URL": provider.address,
    }
    with serving("app.py", port=port, env=environment, way="spawn") as address:  # read when loaded
        yield address, provider
    provider.shutdown()
    provider.server_close()


def test_a_visitor_signs_in_has_a_token_of_their_own_and_signs_out(
    browser: Browser, space: tuple[str, Provider]
) -> None:
    address, provider = space
    context, other = browser.new_context(), browser.new_context()
    page, stranger = context.new_page(), other.new_page()
    for one in (page, stranger):
        one.goto(address)
        expect(one.locator("button#heal")).to_be_enabled()
    page.locator("#sign-in").click()
    expect(page.locator("#sign-in")).to_contain_text("visitor")
    assert "inference-api" in provider.scopes[0]
    page.locator("#models button").first.click()
    expect(page.locator("#at-hand")).to_contain_text("hf-router")
    assert TOKEN not in page.content()

    stranger.reload()
    expect(stranger.locator("button#heal")).to_be_enabled()
    stranger.locator("#models button").first.click()
    expect(stranger.locator("#sign-in")).not_to_contain_text("visitor")
    expect(stranger.locator("#at-hand")).not_to_contain_text("hf-router")

    page.locator("#sign-in").click()
    expect(page.locator("#sign-in")).not_to_contain_text("visitor")
    page.locator("#models button").first.click()
    expect(page.locator("#at-hand")).not_to_contain_text("hf-router")
    context.close()
    other.close()
