"""How the suite of a project comes out, and which of its passes count."""
