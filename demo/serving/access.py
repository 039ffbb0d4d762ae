"""Whether a page that strangers can reach may run their code here; pure.

Whoever can open the page can run a program on this machine. On a public one that is allowed
only behind a jail that was seen to hold; everything else can still be looked at.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass

from agent.core.domain import JailStatus
from sandbox.levels import SAFE_FOR_PUBLIC

PROXIES = "10.0.0.0/8,100.64.0.0/10,127.0.0.0/8,172.16.0.0/12,192.168.0.0/16,::1/128,fc00::/7"
"""Where the proxies of a Space's host stand. They say from where each visitor comes; what stands
before that the visitor wrote."""


@dataclass(frozen=True)
class Access:
    """Who can reach the page, and whether a weak jail is good enough for them."""

    public: bool = False
    """Other machines can reach it."""
    allow_weak: bool = False
    """The operator takes the risk, by SANDBOX_ALLOW_WEAK=1."""

    def refusal(self, jail: JailStatus) -> str:
        """Why no code may be run behind this jail, and what to do; empty where it may."""
        if not self._weak(jail) or self.allow_weak:
            return ""
        return (
            "No code is run here: this page can be reached from other machines, and all that was "
            f"seen to hold a program back is “{jail.words}”. Saved runs can be read. To run "
            "code, start it where the jail works (Linux with seccomp, HEAL_SANDBOX=auto), choose "
            "a sandbox elsewhere (HEAL_SANDBOX=docker, e2b or daytona), or serve this machine "
            "only (GRADIO_SERVER_NAME=127.0.0.1). SANDBOX_ALLOW_WEAK=1 runs code all the same."
        )

    def warning(self, jail: JailStatus) -> str:
        """What every page must say where code is run behind a weak jail; empty elsewhere."""
        if not self._weak(jail) or not self.allow_weak:
            return ""
        return (
            "Not safe: whoever can reach this page can run code on this machine, and all that "
            f"was seen to hold it back is “{jail.words}”. SANDBOX_ALLOW_WEAK=1 allows it."
        )

    def _weak(self, jail: JailStatus) -> bool:
        return self.public and jail.level not in SAFE_FOR_PUBLIC


def is_public(server_name: str, environment: Mapping[str, str]) -> bool:
    """Whether other machines can reach a page that is served at this name."""
    return "SPACE_ID" in environment or not is_loopback(server_name)


def is_loopback(server_name: str) -> bool:
    """Whether a name to serve at is this machine's own; a name we do not know is not."""
    try:
        return ipaddress.ip_address(server_name.strip("[]")).is_loopback
    except ValueError:
        return server_name == "localhost"


def duplicate_link(environment: Mapping[str, str]) -> str:
    """Where whoever visits a Space makes one of their own; empty elsewhere."""
    space = environment.get("SPACE_ID", "")
    return f"https://huggingface.co/spaces/{space}?duplicate=true" if space else ""
