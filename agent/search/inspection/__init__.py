"""Static checks of a repair's text."""
