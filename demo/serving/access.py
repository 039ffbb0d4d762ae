"""Decides whether the page may run visitors' code. Pure functions.

Every visitor of the page can run programs on this machine. A public page runs code only in a jail
that was verified; without one it only shows saved runs.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass

from agent.core.domain import JailStatus
from sandbox.levels import SAFE_FOR_PUBLIC

PROXIES = "10.0.0.0/8,100.64.0.0/10,127.0.0.0/8,172.16.0.0/12,192.168.0.0/16,::1/128,fc00::/7"
"""The networks of the proxies in front of a Space, whose forwarding headers are trusted."""


@dataclass(frozen=True)
class Access:
    """Who can reach the page, and whether a weak jail is allowed."""

    public: bool = False
    """Whether other machines can reach it."""
    allow_weak: bool = False
    """Whether the operator accepts the risk with SANDBOX_ALLOW_WEAK=1."""

    def refusal(self, jail: JailStatus) -> str:
        """Returns why this jail may not run code, and what to do; empty if it may."""
        if not self._weak(jail) or self.allow_weak:
            return ""
        return (
            "This page runs no code, because other machines can reach it and its jail is too weak: "
            f"“{jail.words}”. You can still view saved runs. To run code, the operator can use "
            "Linux with seccomp (HEAL_SANDBOX=auto), another sandbox (HEAL_SANDBOX=docker, e2b or "
            "daytona), a local page (GRADIO_SERVER_NAME=127.0.0.1), or accept the risk "
            "(SANDBOX_ALLOW_WEAK=1)."
        )

    def warning(self, jail: JailStatus) -> str:
        """Returns the warning to show if code runs in a weak jail; else empty."""
        if not self._weak(jail) or not self.allow_weak:
            return ""
        return (
            "Not safe: everyone who can reach this page can run code on this machine, and its jail "
            f"is weak: “{jail.words}”. Remove SANDBOX_ALLOW_WEAK=1 to stop this."
        )

    def _weak(self, jail: JailStatus) -> bool:
        return self.public and jail.level not in SAFE_FOR_PUBLIC


def is_public(server_name: str, environment: Mapping[str, str]) -> bool:
    """Whether other machines can reach a page at this server name."""
    return "SPACE_ID" in environment or not is_loopback(server_name)


def is_loopback(server_name: str) -> bool:
    """Whether a server name is an address of this machine only; false for unknown names."""
    try:
        return ipaddress.ip_address(server_name.strip("[]")).is_loopback
    except ValueError:
        return server_name == "localhost"


def duplicate_link(environment: Mapping[str, str]) -> str:
    """Returns the link that duplicates a Space; empty if the page is not on one."""
    space = environment.get("SPACE_ID", "")
    return f"https://huggingface.co/spaces/{space}?duplicate=true" if space else ""
