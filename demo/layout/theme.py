"""The Gradio theme of the page."""

from __future__ import annotations

import tomllib
from pathlib import Path

import gradio as gr

ASSETS = Path(__file__).parent.with_name("assets")


class PageTheme(gr.themes.Base):
    """The theme that `assets/theme.toml` describes."""

    def __init__(self) -> None:
        look = tomllib.loads((ASSETS / "theme.toml").read_text(encoding="utf-8"))
        accent = gr.themes.Color(*look["accent"])
        super().__init__(
            primary_hue=accent, secondary_hue=accent, neutral_hue=gr.themes.Color(*look["neutral"]),
            font=[gr.themes.LocalFont(look["font"], look["weights"]), "system-ui", "sans-serif"],
            font_mono=[gr.themes.LocalFont(look["font_mono"], look["weights"]), "monospace"],
        )
        super().set(**look["variables"])
