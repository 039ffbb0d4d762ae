"""The look of the page as plain values: one accent, neutrals tinted by it, thin lines.

Light and dark are both drawn; a value that begins with a star refers to another one.
"""

from __future__ import annotations

ACCENT = (
    "#eef8f9", "#d5edf0", "#abdae0", "#78c0ca", "#3f9fad", "#1d8291", "#0e6978", "#0b5562",
    "#0a444f", "#083740", "#052229",
)
"""Petrol from light to dark, in the eleven steps of a palette: 50, 100 to 900, 950."""

NEUTRAL = (
    "#f7f9f9", "#eef2f2", "#dde4e5", "#c3cdcf", "#93a1a4", "#6a797c", "#4f5d60", "#3b4649",
    "#272f32", "#1a2123", "#12181a",
)
"""Greys with a drop of petrol, in the same steps."""

FONT = "IBM Plex Sans"
FONT_MONO = "IBM Plex Mono"
"""Both ship with the page; nothing is fetched from elsewhere."""

WEIGHTS = (400, 700)
"""The weights whose shipped files hold the whole alphabet; the semi-bold ones do not."""

VARIABLES: dict[str, str] = {
    "body_background_fill": "*neutral_50",
    "body_background_fill_dark": "*neutral_950",
    "body_text_color": "*neutral_900",
    "body_text_color_dark": "*neutral_100",
    "body_text_color_subdued": "*neutral_600",
    "body_text_color_subdued_dark": "*neutral_400",
    "background_fill_primary": "white",
    "background_fill_primary_dark": "*neutral_900",
    "background_fill_secondary": "*neutral_100",
    "background_fill_secondary_dark": "*neutral_800",
    "block_background_fill": "white",
    "block_background_fill_dark": "*neutral_900",
    "block_border_width": "1px",
    "block_border_color": "*neutral_200",
    "block_border_color_dark": "*neutral_800",
    "block_shadow": "none",
    "block_label_background_fill": "transparent",
    "block_label_background_fill_dark": "transparent",
    "block_label_border_width": "0px",
    "block_label_text_color": "*neutral_600",
    "block_label_text_color_dark": "*neutral_300",
    "block_label_text_weight": "600",
    "block_title_text_color": "*neutral_600",
    "block_title_text_color_dark": "*neutral_300",
    "block_title_text_weight": "600",
    "border_color_primary": "*neutral_200",
    "border_color_primary_dark": "*neutral_800",
    "input_background_fill": "white",
    "input_background_fill_dark": "*neutral_900",
    "input_border_width": "1px",
    "input_border_color": "*neutral_300",
    "input_border_color_dark": "*neutral_700",
    "input_border_color_focus": "*primary_500",
    "input_border_color_focus_dark": "*primary_400",
    "input_placeholder_color": "*neutral_500",
    "input_placeholder_color_dark": "*neutral_500",
    "button_primary_background_fill": "*primary_600",
    "button_primary_background_fill_hover": "*primary_700",
    "button_primary_background_fill_dark": "*primary_600",
    "button_primary_background_fill_hover_dark": "*primary_500",
    "button_primary_text_color": "white",
    "button_primary_text_color_dark": "white",
    "button_secondary_background_fill": "white",
    "button_secondary_background_fill_hover": "*neutral_100",
    "button_secondary_background_fill_dark": "*neutral_900",
    "button_secondary_background_fill_hover_dark": "*neutral_800",
    "button_secondary_border_color": "*neutral_300",
    "button_secondary_border_color_dark": "*neutral_700",
    "button_secondary_text_color": "*neutral_800",
    "button_secondary_text_color_dark": "*neutral_100",
    "button_border_width": "1px",
    "button_large_text_weight": "600",
}
