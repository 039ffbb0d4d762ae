"""Raises the exception that a failing test expects, under a condition that fits its inputs."""

from __future__ import annotations

import ast
import builtins
import re
import sys
from collections.abc import Iterator, Sequence

from agent.core.trees import nodes_or_empty
from agent.search.edits.classes import fields_of
from agent.search.edits.conditions import atoms
from agent.search.edits.constants import quoted
from agent.search.evidence import Values, Vector, cost_delta, literal_values
from agent.search.program import (
    BUILTINS,
    NUMBERS,
    Function,
    Program,
    Splice,
    parameters,
    variable_names,
)
from agent.search.program.blocks import SIMPLE, block_of, indented, is_docstring, lines_of
from agent.search.values import ExpectedException

MAX_EXPECTED, MAX_NAMES, MAX_OTHERS, MAX_ATOMS, MAX_MODULES = 3, 6, 8, 40, 4
OF_PROGRAM = 0.5
"""The highest cost in `atoms` of conditions that the program has elsewhere."""
_RAISES = re.compile(r"(^|\.)(raises|assertRaises|assertRaisesRegex)$")
_TEXT_KIND = re.compile(r"\.is(upper|lower|digit|alpha|alnum|space)\(\)")
_TEXT_KINDS = ("digit", "upper", "lower", "alpha", "alnum", "space")
_WORDS = {
    "not {}": "must not be empty", "{} is None": "must not be None",
    "{} < 0": "must not be negative", "{} <= 0": "must be positive", "{} == 0": "must not be 0",
}


def expected_exceptions(codes: Sequence[str]) -> tuple[ExpectedException, ...]:
    """The exceptions that tests expect: by `raises`, `assertRaises` or an `except`."""
    found: dict[ExpectedException, None] = {}
    for code in codes:
        nodes = nodes_or_empty(code)
        compared = next(_compared_messages(nodes), "")
        for node in nodes:
            match node:
                case ast.Call(func=func, args=[kinds, *more]) if _RAISES.search(ast.unparse(func)):
                    more += [one.value for one in node.keywords if one.arg == "match"]
                    texts = [one.value for one in more if isinstance(one, ast.Constant)]
                    message = _plain(next((one for one in texts if isinstance(one, str)), ""))
                case ast.ExceptHandler(type=ast.expr() as kinds):
                    message = ""
                case _:
                    continue
            for kind in kinds.elts if isinstance(kinds, ast.Tuple) else [kinds]:
                name = ast.unparse(kind).rpartition(".")[2]
                if name not in ("AssertionError", "Exception"):
                    found[ExpectedException(name, message or compared)] = None
    return tuple(found)[:MAX_EXPECTED]


def _compared_messages(nodes: Sequence[ast.AST]) -> Iterator[str]:
    """Texts that tests compare with the text of an exception."""
    for node in nodes:
        if isinstance(node, ast.Compare) and re.search(r"\bstr\(|\.args\b", ast.unparse(node)):
            yield from (
                one.value for one in (node.left, *node.comparators)
                if isinstance(one, ast.Constant) and isinstance(one.value, str)
            )


def _plain(pattern: str) -> str:
    """A text that a regular expression matches; empty if it is not found easily."""
    text = re.sub(r"\\(\W)", r"\1", pattern.strip("^$"))
    text = text.replace(".*", " ").replace(".+", " ")
    try:
        return text if re.search(pattern, text) else ""
    except re.error:
        return ""


def missing_raise(program: Program, node: ast.stmt) -> Iterator[Splice]:
    """Raises an exception that a failing test expects, before a statement under a condition or in
    the place of an exit."""
    expected = [one for one in program.expected if _is_known(program, one.name)]
    scope = program.scope(node)
    if not expected or not isinstance(scope, Function) or not program.has_own_lines(node):
        return
    if is_docstring(node) or isinstance(node, ast.Raise | Function | ast.ClassDef):
        return
    if program.crash and program.crash.line is not None:
        return  # see `translated`
    line = node.lineno
    moments = program.moments(line)
    never: Vector = (False,) * len(moments)
    if scope.name == "__exit__" and program.code(node) == "return True":
        yield program.replace_statement(node, "return False", cost=0.6)
    for place, one in enumerate(expected):
        if _is_exit(program, node):
            use = cost_delta(never, (True,) * len(moments), moments)
            raised = _raise(program, one, node, _printed(node))
            yield program.replace_statement(node, raised, cost=1.8 + use + 0.2 * place)
        yield from _strict(program, node, one.name)
    if _is_exit(program, node):
        return
    first, *_ = block_of(program, node)
    later = first is not node and not is_docstring(first)
    held = {program.code(one.test) for one in _ifs_around(program, node)}
    for text, cost, about, words in _conditions(program, node, scope):
        if text in held:
            continue
        use = cost_delta(never, program.condition_values(text, line), moments)
        for place, one in enumerate(expected):
            raised = _raise(program, one, node, f"{about.removeprefix('self.')} {words}".strip())
            if one.name == "KeyError" and about and not one.message:
                raised = f"raise KeyError({about})"
            lines = [f"if {text}:", f"{program.indent_unit}{raised}"]
            yield program.insert_before(node, lines, cost + use + 0.2 * place + 0.4 * later)


def _strict(program: Program, node: ast.stmt, exception: str) -> Iterator[Splice]:
    """Replaces a lenient call of a statement by one that raises an exception."""
    for one in program.walk(_head(node)):
        match one:
            case ast.Call(func=ast.Attribute(value=owner, attr=name), args=[key, *_]):
                base, first = program.code(owner), program.code(key)
            case _:
                continue
        if exception in ("KeyError", "LookupError"):
            popped = f"{base}.pop({first})" if len(one.args) > 1 else ""
            texts = {
                "get": f"{base}[{first}]", "pop": popped, "discard": f"{base}.remove({first})",
            }
        else:
            texts = {"find": f"{base}.index({first})"} if exception == "ValueError" else {}
        if text := texts.get(name, ""):
            yield program.replace(one, text, 0.8)


def _ifs_around(program: Program, node: ast.AST) -> Iterator[ast.If]:
    at = program.parents.get(node)
    while at is not None and not isinstance(at, Function):
        if isinstance(at, ast.If):
            yield at
        at = program.parents.get(at)


def _is_exit(program: Program, node: ast.stmt) -> bool:
    """Whether a conditional statement only reports that something is wrong."""
    match node:
        case ast.Pass() | ast.Return(value=None | ast.Constant() | ast.List(elts=[])):
            pass
        case ast.Return(value=ast.Dict(keys=[]) | ast.Tuple(elts=[])):
            pass
        case ast.Expr(value=ast.Call(func=ast.Name(id="print"))):
            pass
        case _:
            return False
    return isinstance(program.parents.get(node), ast.If | ast.ExceptHandler)


def _printed(node: ast.stmt) -> str:
    """The text that a statement prints, if it is a literal."""
    match node:
        case ast.Expr(value=ast.Call(args=[ast.Constant(value=str() as text)])):
            return text
    return ""


def translated(program: Program, node: ast.stmt) -> Iterator[Splice]:
    """Raises an expected exception in the place of the one that a statement raises."""
    crash = program.crash
    if crash is None or crash.line is None or not isinstance(node, SIMPLE):
        return
    if not node.lineno <= crash.line <= (node.end_lineno or 0) or not program.has_own_lines(node):
        return
    if not program.is_in_function(node):
        return
    raised, expected = crash.exception, [
        one for one in program.expected if _is_known(program, one.name)
    ]
    start, end = program.whole_lines(node)
    indent, new = program.indent(node), program.newline
    body = indented(lines_of(program, node), indent + program.indent_unit)
    modules = [one for one in program.imported if one in sys.stdlib_module_names]
    names = [raised] if _is_known(program, raised) else [f"{one}.{raised}" for one in modules]
    for one in expected:
        for name in names[:MAX_MODULES] if one.name != raised else ():
            call = _raise(program, one, node, "")
            if call == f"raise {one.name}()":
                call = f"raise {one.name}(str(error))"
            yield Splice(
                start, end, f"{indent}try:{new}{body}{indent}except {name} as error:{new}"
                f"{indent}{program.indent_unit}{call} from error{new}", 1.6, node.lineno,
            )


def _conditions(
    program: Program, node: ast.stmt, scope: Function
) -> Iterator[tuple[str, float, str, str]]:
    """Conditions over what a statement reads and the parameters, with a cost, what they are about
    and the words for a message."""
    variables = {*program.variables(node)}
    read = [one for one in variable_names(_head(node), context=ast.Load) if one in variables]
    given = [one for one in parameters(scope) if one not in ("self", "cls")]
    own = [] if scope.name == "__init__" else fields_of(program, node)
    fields = [f"self.{one}" for one in own]
    names = [one for one in dict.fromkeys((*read, *given)) if one not in ("self", "cls")]
    near = [*names[:MAX_NAMES], *(one for one in fields if one in program.code(scope))]
    others = [*names[:MAX_OTHERS], *fields[:MAX_OTHERS]]
    of_type = any(one.name == "TypeError" for one in program.expected)
    for base, key in _lookups(program, node):
        yield f"{key} not in {base}", 1.2, key, f"must be in {base.removeprefix('self.')}"
    for far, name in enumerate(near[:MAX_NAMES]):
        types = program.observed_types(name)
        number = program.may_be(name, NUMBERS)
        shared = 0.6 * (name in fields or name in program.module_values)
        yield from _types(program, node, name, 1.4 if of_type else 2.4)
        if of_type:  # a comparison of values of different types raises it by accident
            continue
        for form, words in _WORDS.items():
            if number or form in ("not {}", "{} is None"):
                yield form.format(name), 1.8 + 0.1 * far + shared, name, words
        for other in others:
            plain = other.removeprefix("self.")
            alike = number and program.may_be(other, NUMBERS)
            if other not in near[:far + 1] and (alike or types & program.observed_types(other)):
                yield f"{name} > {other}", 2.0 + 0.1 * far, name, f"must not exceed {plain}"
                yield f"{name} < {other}", 2.1 + 0.1 * far, name, f"must not be below {plain}"
            if other != name and program.may_be(other, frozenset({"dict", "list", "set", "tuple"})):
                yield f"{name} not in {other}", 2.0 + 0.1 * far, name, f"must be in {plain}"
                yield f"{name} in {other}", 2.0 + 0.1 * far, name, f"must not be in {plain}"
    yield from _bounds(program, node, near, 2.9 if fields else 2.2)
    for text, cost in atoms(program, node)[:MAX_ATOMS]:
        if cost <= OF_PROGRAM and not of_type:
            yield text, 2.2 + cost, "", ""
            for kind in _TEXT_KINDS if _TEXT_KIND.search(text) else ():
                yield _TEXT_KIND.sub(f".is{kind}()", text), 2.0 + cost, "", ""


def _lookups(program: Program, node: ast.stmt) -> Iterator[tuple[str, str]]:
    """The containers that a statement reads a key of, and the keys."""
    for one in program.walk(_head(node)):
        match one:
            case ast.Call(func=ast.Attribute(value=base, attr="get" | "pop"), args=[key, *_]):
                pass
            case ast.Subscript(value=base, slice=key) if not isinstance(key, ast.Slice):
                pass
            case _:
                continue
        if isinstance(key, ast.Name | ast.Attribute):
            yield program.code(base), program.code(key)


def _types(
    program: Program, node: ast.stmt, name: str, cost: float
) -> Iterator[tuple[str, float, str, str]]:
    """Tests of the type: those of all passing runs, and those of failing ones."""
    kinds: dict[bool, dict[str, None]] = {True: {}, False: {}}
    for moment in program.moments(node.lineno):
        value = literal_values(moment).get(name)
        if value is not None:
            kinds[moment.passed][type(value).__name__] = None
    for passed, words in ((True, "not isinstance"), (False, "isinstance")):
        own = [one for one in kinds[passed] if one not in kinds[not passed]]
        if own and len(own) == len(kinds[passed]):
            text = own[0] if len(own) == 1 else f"({', '.join(own)})"
            about = " or ".join(own)
            article = "must be of type" if passed else "must not be of type"
            yield f"{words}({name}, {text})", cost + 0.8 * (not passed), name, f"{article} {about}"


def _bounds(
    program: Program, node: ast.stmt, names: Sequence[str], cost: float
) -> Iterator[tuple[str, float, str, str]]:
    """Bounds of numbers that all values of passing runs keep and none of failing ones."""
    values: dict[bool, list[Values]] = {True: [], False: []}
    for moment in program.moments(node.lineno):
        values[moment.passed].append(literal_values(moment))
    for name in names:
        passed, failed = (
            [one[name] for one in values[kind] if type(one.get(name)) in (int, float)]
            for kind in (True, False)
        )
        if not passed or not failed:
            continue
        highest, lowest = max(passed), min(passed)
        if min(failed) > highest:
            far = min(failed) - highest > 1
            yield f"{name} > {highest}", cost + 0.8 * far, name, f"must be at most {highest}"
        if max(failed) < lowest:
            far = lowest - max(failed) > 1
            yield f"{name} < {lowest}", cost + 0.8 * far, name, f"must be at least {lowest}"


def _head(node: ast.stmt) -> ast.AST:
    """What a statement reads before its blocks run."""
    match node:
        case ast.If(test=read) | ast.While(test=read) | ast.For(iter=read):
            return read
    return node


def _raise(program: Program, one: ExpectedException, node: ast.stmt, usual: str) -> str:
    """The statement that raises an exception, with the message that the test expects or else the
    `usual` one. Values of variables in an expected message become replacement fields."""
    if not one.message:
        known = {*program.variables(node), *BUILTINS}
        for other in program.nodes:
            match other:
                case ast.Raise(exc=ast.Call(func=ast.Name(id=name), args=[_, *_]) as call):
                    if name == one.name and {*variable_names(*call.args)} <= known and not (
                        isinstance(call.args[0], ast.Constant)
                    ) and "\n" not in program.code(call):
                        return f"raise {program.code(call)}"
    text = one.message or usual
    literal = quoted(text, '"') if text else ""
    failing = [literal_values(moment) for moment in program.moments(node.lineno)
               if not moment.passed]
    if one.message and failing:
        filled = text.replace("{", "{{").replace("}", "}}")
        for name, value in failing[0].items():
            shown = str(value)
            if isinstance(value, str | int) and len(shown) > 1 and name.isidentifier():
                filled = re.sub(rf"(?<!\w){re.escape(shown)}(?!\w)", f"{{{name}}}", filled, count=1)
        if filled != text.replace("{", "{{").replace("}", "}}"):
            literal = f"f{quoted(filled, chr(34))}"
    return f"raise {one.name}({literal})"


def _is_known(program: Program, name: str) -> bool:
    own = getattr(builtins, name, None)
    is_builtin = isinstance(own, type) and issubclass(own, BaseException)
    return is_builtin or name in program.imported or any(
        isinstance(one, ast.ClassDef) and one.name == name for one in program.tree.body
    )
