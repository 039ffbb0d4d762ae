"""Builds the site of the documents: `make docs`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

project = "Self-Healing Code Agent"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "furo"
html_title = project
exclude_patterns = ["_build"]
myst_heading_anchors = 4
nitpicky = False
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
# Links to files of the checkout that are no pages, and the language of diagrams.
suppress_warnings = ["myst.xref_missing", "misc.highlighting_failure"]
