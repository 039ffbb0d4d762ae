"""Signing in with Hugging Face, where a Space has it: what a visitor's runs ask of its inference
providers is then paid for by the visitor."""

from __future__ import annotations

from typing import Any

import gradio as gr

from demo.browser_state import TYPED, WISHES
from demo.layout.parts import QUICK, Parts
from demo.models.panel import SHOWN, Panel


def lay_login(parts: Parts) -> None:
    """The button that signs in and out. The token stays on the server."""
    parts.add("sign-in", gr.LoginButton(size="sm", variant="secondary"))
    parts.add("signed", gr.State(""))


def wire_login(arrived: Any, parts: Parts, panel: Panel) -> None:
    """Has the token of whoever arrives used for their own runs."""

    def token_of(token: gr.OAuthToken | None) -> str:
        return token.token if token is not None else ""

    told = arrived.then(token_of, None, parts["signed"], **QUICK)
    parts.on(told.then, panel.sign_in, (*WISHES, "signed", *TYPED), SHOWN)
