"""Switches a loaded module to another text in place, so that existing references stay valid.

For an edit inside a function, its function object gets another `__code__`, so that all code that
imported, registered or wrapped it calls the new one. For any other edit, the changed module-level
statement and those that depend on it are executed again, and the new objects are moved into the
existing ones: functions by their code, classes by attributes, containers by their content. If that
is impossible, the text is not tested.
"""

from __future__ import annotations

import ast
import functools
import gc
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from agent.core.common_ends import common_ends

_Function = (ast.FunctionDef, ast.AsyncFunctionDef)
_CONTAINERS = (dict, list, set)
_NOT_MOVED = frozenset({"__dict__", "__weakref__", "__module__", "__qualname__", "__firstlineno__"})


class CannotSwitch(Exception):
    """The module cannot be switched to the text in this process; the text may still be right."""


class OuterFunction(NamedTuple):
    """A function that is in no other function."""

    node: ast.FunctionDef | ast.AsyncFunctionDef
    classes: tuple[ast.ClassDef, ...]
    """The classes around it, the outermost first."""


class LiveModule:
    """One imported file of the project."""

    def __init__(self, path: str, text: str, module: types.ModuleType, root: str) -> None:
        self.path = path
        self._root = root
        self.text = text
        self._module = module
        self._package = module.__name__.partition(".")[0]
        self._lines = text.split("\n")
        self._tree = ast.parse(text)
        self._outer_functions = [*_outer_functions(self._tree)]
        self._codes: dict[int, types.CodeType] = {}
        self._reads = {
            node.name: _names_in(node) for node in self._tree.body
            if isinstance(node, (*_Function, ast.ClassDef))
        }
        """Module-level functions and classes with all names in them."""
        self._functions: dict[tuple[str, int], list[types.FunctionType]] = {}
        """Function objects by name and first line of their code."""
        self._caches: list[Any] = []
        gc.unfreeze()  # frozen objects are not listed
        for one in gc.get_objects():
            if type(one) is types.FunctionType and one.__code__.co_filename == path:
                code = one.__code__
                self._functions.setdefault((code.co_name, code.co_firstlineno), []).append(one)
            elif type(one) is functools._lru_cache_wrapper and self._is_own(one):
                self._caches.append(one)
        gc.freeze()
        self._undo_stack: list[Callable[[], object]] = []
        """The calls that undo each change, in the order of the changes."""

    def _is_own(self, cached: Any) -> bool:
        module = getattr(cached, "__module__", None) or ""
        return bool(module.partition(".")[0] == self._package)

    def switch_to(self, text: str) -> None:
        """Switches the module to a text, after undoing the previous one.

        Raises:
            CannotSwitch: The text cannot be tested in this process.
            BaseException: Any exception of compiling and executing the text.
        """
        self.undo()
        for cache in self._caches:
            cache.cache_clear()
        if text == self.text:
            return
        lines = text.split("\n")
        first, last = _changed(self._lines, lines)
        shift = len(lines) - len(self._lines)
        function = self._function_around(first, last)
        if function is None or not self._swap(function, lines, shift):
            self._execute(text, lines, first, last, shift)

    def undo(self) -> None:
        """Undoes the last switch, except for changes to objects of other modules."""
        while self._undo_stack:
            self._undo_stack.pop()()

    def _set(self, owner: Any, name: str, value: Any) -> None:
        """Sets an attribute, or deletes it if the value is `_ABSENT`."""
        old = vars(owner).get(name, _ABSENT)
        try:
            _put(owner, name, value)
        except (AttributeError, TypeError) as error:
            raise CannotSwitch(f"{name}: {error}") from error
        self._undo_stack.append(functools.partial(_put, owner, name, old))

    def _function_around(self, first: int, last: int) -> OuterFunction | None:
        """The function whose body contains all of these lines, counted from 1."""
        for function in self._outer_functions:
            node = function.node
            body = node.body[0].lineno
            if body == node.lineno or any(inner.lineno == body for inner in function.classes):
                body += 1  # a body on its function's own line
            if body <= first and last <= (node.end_lineno or 0):
                return function
        return None

    def _swap(self, function: OuterFunction, lines: list[str], shift: int) -> bool:
        """Replaces the code of a function; returns whether that was possible."""
        node, classes = function
        first = node.lineno
        heads = [" " * owner.col_offset + f"class {owner.name}:" for owner in classes]
        if (classes or (node,))[0].col_offset:  # in an `if` or `try` of the module
            heads.insert(0, "if True:")
        padding = first - 1 - len(heads)
        if padding < 0:
            return False
        body = lines[first - 1 : (node.end_lineno or first) + shift]
        text = "\n".join([*[""] * padding, *heads, *body]) + "\n"
        new = compile(text, self.path, "exec", flags=self._flags, dont_inherit=True)
        code = _code_of(new, [*(owner.name for owner in classes), node.name])
        old = self._functions.get((node.name, _first_line(node)))
        if code is None or not old:
            return False
        pairs = [*_paired(old[0].__code__, code)]
        if any(len(a.co_freevars) != len(b.co_freevars) for a, b in pairs):
            return False
        for before, after in pairs:
            for one in self._functions.get((before.co_name, before.co_firstlineno), ()):
                self._undo_stack.append(functools.partial(_put, one, "__code__", one.__code__))
                one.__code__ = after
        return True

    @property
    def _flags(self) -> int:
        """The compiler flags of the file's `__future__` imports."""
        flags = 0
        for node in self._tree.body:
            if isinstance(node, ast.ImportFrom) and node.module == "__future__":
                import __future__

                for alias in node.names:
                    flags |= int(getattr(__future__, alias.name).compiler_flag)
        return flags

    def _execute(self, text: str, lines: list[str], first: int, last: int, shift: int) -> None:
        """Executes the changed statement and its dependents, and moves the new objects into the
        existing ones."""
        pieces = self._pieces(lines, first, last, shift) or [
            compile(text, self.path, "exec", dont_inherit=True)
        ]
        names = self._module.__dict__
        before = dict(names)
        self._undo_stack.append(functools.partial(_refill, names, before))
        for code in pieces:
            exec(code, names)  # running candidates is the purpose of this program
        for name, old in before.items():
            new = names.get(name, old)
            if new is old or name.startswith("__"):
                continue
            names[name] = kept = self._update_in_place(old, new)
            if kept is new:
                self._rebind(name, old, new)

    def _pieces(self, lines: list[str], first: int, last: int, shift: int) -> list[types.CodeType]:
        """The code of the changed module-level statement and of its dependents; empty if several
        statements changed."""
        index = next((
            index for index, node in enumerate(self._tree.body)
            if _first_line(node) <= first and last <= (node.end_lineno or node.lineno)
        ), None)
        if index is None:
            return []
        start, end = _first_line(self._tree.body[index]), self._tree.body[index].end_lineno or 0
        text = "\n" * (start - 1) + "\n".join(lines[start - 1 : end + shift]) + "\n"
        changed = compile(text, self.path, "exec", flags=self._flags, dont_inherit=True)
        return [changed, *(self._compiled(later) for later in self._dependents(index))]

    def _compiled(self, index: int) -> types.CodeType:
        if index not in self._codes:
            body = ast.Module([self._tree.body[index]], [])
            self._codes[index] = compile(
                body, self.path, "exec", flags=self._flags, dont_inherit=True
            )
        return self._codes[index]

    def _dependents(self, index: int) -> list[int]:
        """Module-level statements whose execution reads a name that this one binds, directly or by
        calling a function that does."""
        affected = {*_bound_by(self._tree.body[index])}
        found: list[int] = []
        growing = True
        while growing:
            growing = False
            for name, reads in self._reads.items():
                if name not in affected and reads & affected:
                    affected.add(name)
                    growing = True
            for later in range(index + 1, len(self._tree.body)):
                node = self._tree.body[later]
                if later not in found and _read_by(node) & affected:
                    found.append(later)
                    affected |= {*_bound_by(node)}
                    growing = True
        return sorted(found)

    def _update_in_place(self, old: Any, new: Any) -> Any:
        """The old object with the content of the new one; the new one if that is impossible."""
        if type(old) is not type(new):
            return new
        if isinstance(old, types.FunctionType):
            return old if self._replace_code(old, new) else new
        if isinstance(old, functools._lru_cache_wrapper):
            if self._update_in_place(old.__wrapped__, new.__wrapped__) is old.__wrapped__:
                old.cache_clear()
                return old
            return new
        if isinstance(old, type):
            if old.__module__ != self._module.__name__ or old.__qualname__ != new.__qualname__:
                return new
            if old.__bases__ != new.__bases__:
                return new  # found by code that looks it up by its name
            self._move_class(old, new)
            return old
        if type(old) in _CONTAINERS:
            self._undo_stack.append(functools.partial(_refill, old, old.copy()))
            _refill(old, new)
            return old
        return new

    def _move_class(self, old: Any, new: Any) -> None:
        for name in [*vars(old)]:
            if name not in vars(new) and name not in _NOT_MOVED:
                self._set(old, name, _ABSENT)
        for name, value in [*vars(new).items()]:
            if name in _NOT_MOVED:
                continue
            current = vars(old).get(name)
            if current is value:
                continue
            if isinstance(value, (classmethod, staticmethod)) and type(current) is type(value):
                if self._update_in_place(current.__func__, value.__func__) is current.__func__:
                    continue
                _set_super_class(value.__func__, old)
            elif isinstance(value, property):
                for one in (value.fget, value.fset, value.fdel):
                    _set_super_class(one, old)
            elif isinstance(value, types.FunctionType):
                if isinstance(current, types.FunctionType) and self._replace_code(current, value):
                    continue
                _set_super_class(value, old)
            elif isinstance(value, (types.MemberDescriptorType, types.GetSetDescriptorType)):
                continue
            elif type(current) is type(value) and type(value) in _CONTAINERS:
                self._update_in_place(current, value)
                continue
            self._set(old, name, value)

    def _replace_code(self, old: types.FunctionType, new: types.FunctionType) -> bool:
        """Gives a function the code of another; returns whether that was possible."""
        if len(old.__code__.co_freevars) != len(new.__code__.co_freevars):
            return False
        wrapped = getattr(old, "__wrapped__", None)
        if isinstance(wrapped, types.FunctionType):
            inner = getattr(new, "__wrapped__", None)
            return isinstance(inner, types.FunctionType) and self._replace_code(wrapped, inner)
        if any(name != "__class__" for name in old.__code__.co_freevars):
            return False  # its closure was created again
        for name in ("__code__", "__defaults__", "__kwdefaults__", "__doc__"):
            self._undo_stack.append(functools.partial(_put, old, name, getattr(old, name)))
            _put(old, name, getattr(new, name))
        self._undo_stack.append(functools.partial(_refill, old.__dict__, dict(old.__dict__)))
        old.__dict__.update(new.__dict__)
        return True

    def _rebind(self, name: str, old: Any, new: Any) -> None:
        """Replaces the old object in other modules of the project that imported it."""
        simple = old is None or isinstance(old, (bool, int, str, float))
        for module in [*sys.modules.values()]:
            names = getattr(module, "__dict__", None)
            if names is None or module is self._module:
                continue
            file = getattr(module, "__file__", None) or ""
            if not file.startswith(self._root):
                continue
            for key, value in [*names.items()]:
                if value is old and (key == name or not simple):
                    self._undo_stack.append(functools.partial(names.__setitem__, key, old))
                    names[key] = new


_ABSENT: Any = object()


def _put(owner: Any, name: str, value: Any) -> None:
    delattr(owner, name) if value is _ABSENT else setattr(owner, name, value)


def _refill(container: Any, content: Any) -> None:
    """Replaces the content of a container in place."""
    container.clear()
    container.extend(content) if isinstance(container, list) else container.update(content)


def _set_super_class(function: Any, owner: type) -> None:
    """Makes `super()` in a function refer to the old class."""
    closure = getattr(function, "__closure__", None) or ()
    code = getattr(function, "__code__", None)
    for name, cell in zip(code.co_freevars if code else (), closure):  # noqa: B905 - new in 3.10
        if name == "__class__":
            cell.cell_contents = owner


def _outer_functions(tree: ast.Module) -> Iterator[OuterFunction]:
    pending: list[tuple[ast.stmt, tuple[ast.ClassDef, ...]]] = [(one, ()) for one in tree.body]
    while pending:
        node, classes = pending.pop()
        if isinstance(node, _Function):
            yield OuterFunction(node, classes)
        elif isinstance(node, ast.ClassDef):
            pending += [(statement, (*classes, node)) for statement in node.body]
        else:
            pending += [
                (one, classes) for one in ast.iter_child_nodes(node) if isinstance(one, ast.stmt)
            ]


def _first_line(node: ast.stmt) -> int:
    """The first line of a statement, including its decorators."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(one.lineno for one in decorators)])


def _names_in(node: ast.AST) -> set[str]:
    return {
        one.id if isinstance(one, ast.Name) else one.attr
        for one in ast.walk(node) if isinstance(one, (ast.Name, ast.Attribute))
    }


def _bound_by(node: ast.stmt) -> Iterator[str]:
    """Names that a module-level statement binds or changes."""
    if isinstance(node, (*_Function, ast.ClassDef)):
        yield node.name
        return
    for one in ast.walk(node):
        if isinstance(one, ast.Name) and isinstance(one.ctx, (ast.Store, ast.Del)):
            yield one.id
        elif isinstance(one, (ast.Subscript, ast.Attribute)) and isinstance(one.ctx, ast.Store):
            yield from _names_in(one.value)
        elif isinstance(one, (*_Function, ast.ClassDef)):
            yield one.name
        elif isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute):
            yield from _names_in(one.func.value)  # `TABLE.update(…)`


def _read_by(node: ast.stmt) -> set[str]:
    """Names that are read when a module-level statement is executed."""
    if isinstance(node, _Function):
        parts: list[ast.AST] = [*node.decorator_list, *node.args.defaults]
        parts += [one for one in node.args.kw_defaults if one is not None]
        return set().union(*map(_names_in, parts))
    if isinstance(node, ast.ClassDef):
        parts = [*node.decorator_list, *node.bases, *node.keywords]
        return set().union(*map(_names_in, parts), *map(_read_by, node.body))
    return _names_in(node)


def _changed(before: list[str], after: list[str]) -> tuple[int, int]:
    """The first and last changed line of `before`, from 1; for an insertion the line before it."""
    start, end = common_ends(before, after)
    last = len(before) - end
    return (start + 1, last) if last > start else (start, start)


def _code_of(module: types.CodeType, names: list[str]) -> types.CodeType | None:
    """The code object at a path of names."""
    code: types.CodeType | None = module
    for name in names:
        code = next(
            (one for one in (code.co_consts if code else ())
             if isinstance(one, types.CodeType) and one.co_name == name), None,
        )
    return code


def _paired(
    old: types.CodeType, new: types.CodeType
) -> Iterator[tuple[types.CodeType, types.CodeType]]:
    """Two code objects, and those inside them, matched by name and order."""
    yield old, new
    left = [one for one in new.co_consts if isinstance(one, types.CodeType)]
    for one in old.co_consts:
        if isinstance(one, types.CodeType):
            other = next((two for two in left if two.co_name == one.co_name), None)
            if other is not None:
                left.remove(other)
                yield from _paired(one, other)
