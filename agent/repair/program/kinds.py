"""Names of types, and those that well-known functions and methods give."""

from __future__ import annotations

NUMBERS = frozenset({"int", "float", "bool", "complex"})
SEQUENCES = frozenset({"list", "str", "tuple"})

_INT = ("int",)
_STR = ("str",)
_LIST = ("list",)
_BOOL = ("bool",)
CALL_TYPES: dict[str, tuple[str, ...]] = {
    "len": _INT, "int": _INT, "ord": _INT, "hash": _INT, "id": _INT, "round": _INT,
    "sum": ("int", "float"), "abs": ("int", "float"), "pow": ("int", "float"),
    "float": ("float",), "str": _STR, "repr": _STR, "chr": _STR, "bin": _STR, "hex": _STR,
    "oct": _STR, "input": _STR, "list": _LIST, "sorted": _LIST, "set": ("set",),
    "tuple": ("tuple",), "dict": ("dict",), "bool": _BOOL, "any": _BOOL, "all": _BOOL,
    "isinstance": _BOOL,
}
METHOD_TYPES: dict[str, tuple[str, ...]] = {
    "join": _STR, "lower": _STR, "upper": _STR, "strip": _STR, "lstrip": _STR, "rstrip": _STR,
    "replace": _STR, "title": _STR, "capitalize": _STR, "swapcase": _STR, "format": _STR,
    "zfill": _STR, "split": _LIST, "splitlines": _LIST, "count": _INT, "find": _INT,
    "rfind": _INT, "index": _INT, "append": ("NoneType",), "sort": ("NoneType",),
    "extend": ("NoneType",), "reverse": ("NoneType",), "startswith": _BOOL, "endswith": _BOOL,
    "isdigit": _BOOL, "isalpha": _BOOL, "isalnum": _BOOL, "isupper": _BOOL, "islower": _BOOL,
}
