"""Where readings come from."""

from .lines import read_lines
from .table import read_table

__all__ = ["read_lines", "read_table"]
