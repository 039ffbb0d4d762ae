"""Which special methods and attributes of an object cross to its stand-in, and how."""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Callable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent.judge.observed.codec import Object

ORDER = {"__lt__": operator.lt, "__le__": operator.le, "__gt__": operator.gt, "__ge__": operator.ge}

BINARY: dict[str, Callable[[Object, Object], Object]] = {
    f"__{name}__": getattr(operator, f"__{name}__")
    for name in (
        "add", "sub", "mul", "matmul", "truediv", "floordiv", "mod", "lshift", "rshift",
        "and", "or", "xor", "pow",
    )
}
INPLACE: dict[str, Callable[[Object, Object], Object]] = {
    f"__i{name[2:]}": getattr(operator, f"__i{name[2:]}") for name in BINARY
}


def _reflected(function: Callable[[Object, Object], Object]) -> Callable[[Object, Object], Object]:
    return lambda mine, other: function(other, mine)


REFLECTED = {f"__r{name[2:]}": _reflected(function) for name, function in BINARY.items()}
DIVMOD: dict[str, Callable[..., Object]] = {
    "__divmod__": divmod, "__rdivmod__": lambda mine, other: divmod(other, mine),
}

PLAIN_OPERATIONS: dict[str, Callable[..., Object]] = {
    "__len__": len, "__iter__": iter, "__next__": next, "__reversed__": reversed,
    "__getitem__": operator.getitem, "__setitem__": operator.setitem,
    "__delitem__": operator.delitem, "__hash__": hash, "__bool__": bool, "__str__": str,
    "__repr__": repr, "__bytes__": bytes, "__format__": format, "__int__": int,
    "__float__": float, "__complex__": complex, "__index__": operator.index,
    "__round__": round, "__trunc__": math.trunc, "__floor__": math.floor, "__ceil__": math.ceil,
    "__abs__": abs, "__neg__": operator.neg, "__pos__": operator.pos,
    "__invert__": operator.invert, "__fspath__": os.fspath, "__dir__": dir,
    "__call__": lambda mine, *args, **kwargs: mine(*args, **kwargs),
    "__length_hint__": operator.length_hint,
    "__enter__": lambda mine: mine.__enter__(),
    "__exit__": lambda mine, *exc: mine.__exit__(*exc),
}

OPERATIONS: dict[str, Callable[..., Object]] = {
    "__eq__": operator.eq, "__ne__": operator.ne, "__contains__": operator.contains,
    **ORDER, **BINARY, **INPLACE, **REFLECTED, **DIVMOD, **PLAIN_OPERATIONS,
}
"""Special methods that cross, each with what the owner does for it. No other does: numpy's and
pickle's hooks, say, would let an object answer for the function it is passed to."""

JUDGING = {"__contains__", *ORDER, *BINARY, *INPLACE, *REFLECTED, *DIVMOD}

ALWAYS = ("__eq__", "__ne__", "__hash__", "__str__", "__repr__", "__dir__", "__format__")
"""Special methods that the base of all stand-ins defines itself."""

READABLE = frozenset({
    "__name__", "__qualname__", "__doc__", "__wrapped__", "__annotations__", "__defaults__",
    "__kwdefaults__", "__members__", "__match_args__", "__dict__", "__cause__", "__context__",
    "__notes__", "__all__", "__version__", "__file__", "__func__", "__self__", "__code__",
    "__isabstractmethod__", "__abstractmethods__", "__module__",
})
"""Special attributes that are asked of the owner."""


def is_special(name: str) -> bool:
    """Whether a name has two underscores on both sides."""
    return name.startswith("__") and name.endswith("__")
