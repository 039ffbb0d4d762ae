"""What answers each role where there is no model: rules over the real run.

None of them knows a task or a program beforehand. The generator's rule is the one exception
by design: it looks a task up in the scripted drafts it was given, and says that a model is
needed for any other.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from agent.core.domain import Diagnosis, Solution, TestCase
from agent.core.settings import COMMAND, GENERATOR
from agent.core.trees import is_literal, nodes_of, parse, tree_of
from agent.intake import protected_lines, tests_from_words
from agent.thinking.roles import (
    CRITIC,
    DEBUGGER,
    MEMORY_SUMMARISER,
    MOST_CALLS,
    QA_ADVERSARY,
    SPEC_TESTER,
    AdversarialCall,
    AdversarialCalls,
    Critique,
    RootCause,
    SpecTest,
    SpecTests,
    Summary,
    brief,
)
from llm import NoModel, Rules

LONGEST = 200
"""Characters of an expression that a rule writes down, as a model may."""

Rule = Callable[[Mapping[str, object]], str]


def rules(drafts: Mapping[str, str]) -> Rules:
    """The rules by role, with the scripted drafts the generator may look up."""
    table: dict[str, Rule] = {
        GENERATOR: lambda variables: written(drafts, variables),
        SPEC_TESTER.name: spec_tests,
        QA_ADVERSARY.name: adversarial_calls,
        DEBUGGER.name: diagnosis,
        CRITIC.name: critique,
        MEMORY_SUMMARISER.name: lesson,
    }
    return table


def written(drafts: Mapping[str, str], variables: Mapping[str, object]) -> str:
    """The scripted first draft of a task; a repair in words has no rule and raises `NoModel`."""
    if "code" in variables:
        raise NoModel("Rewriting a program needs a model, and none is configured.")
    return draft(drafts, str(variables["task"]))


def draft(drafts: Mapping[str, str], task: str) -> str:
    """The scripted first draft of a known demo task, fenced; raises `NoModel` for any other."""
    wanted = " ".join(task.split())
    for words, code in drafts.items():
        if " ".join(words.split()) == wanted:
            return f"```python\n{code.rstrip()}\n```\n"
    raise NoModel(
        "Writing code from words needs a model, and none is configured: set one up "
        f"(`{COMMAND} plan` says who would answer), bring code and a test instead, or choose one "
        "of the demo tasks. Healing code you bring needs none."
    )


def spec_tests(variables: Mapping[str, object]) -> str:
    """Examples that stand in the task's own words."""
    examples = [
        SpecTest(call=test.call, expected=test.expected)
        for test in tests_from_words(str(variables["task"]))
        if test.kind == "example" and max(len(test.call), len(test.expected)) <= LONGEST
    ]
    return SpecTests(examples=tuple(examples[:MOST_CALLS])).model_dump_json()


def diagnosis(variables: Mapping[str, object]) -> str:
    """What was already found from the traceback and the localisation."""
    found = variables["found"]
    assert isinstance(found, Diagnosis)
    return RootCause.of(found).model_dump_json()


def critique(variables: Mapping[str, object]) -> str:
    """Approves a repair unless it touches a test or silences a deliberate end."""
    before, after = variables["before_solution"], variables["after_solution"]
    assert isinstance(before, Solution) and isinstance(after, Solution)
    if _tests_in(before.text) != _tests_in(after.text):
        return Critique(approve=False, note="the repair changes a test").model_dump_json()
    if variables["crash_only"] and _ends_in(after.text) < _ends_in(before.text):
        note = "the repair removes a deliberate raise or exit"
        return Critique(approve=False, note=note).model_dump_json()
    note = "reviewed by rule: no test is touched and no deliberate exit is removed"
    return Critique(approve=True, note=note).model_dump_json()


def _tests_in(text: str) -> list[str]:
    lines = text.split("\n")
    return [lines[number - 1].strip() for number in sorted(protected_lines(text))]


def _ends_in(text: str) -> int:
    """How many deliberate ends the program has; 0 where it does not parse."""
    try:
        nodes = nodes_of(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return 0
    return sum(
        isinstance(node, ast.Raise)
        or (isinstance(node, ast.Call) and ast.unparse(node.func) in ("exit", "quit", "sys.exit"))
        for node in nodes
    )


def lesson(variables: Mapping[str, object]) -> str:
    """What was wrong and what helped, in one sentence."""
    cause = str(variables["cause"]).strip().rstrip(".")
    text = brief(f"{cause}: what helped was {variables['note']}", 600)
    return Summary.model_validate(
        {"text": text, "category": variables["category"]}
    ).model_dump_json()


# Adversarial inputs, from type hints and from the values seen in the tests.

_BY_HINT: dict[str, tuple[str, ...]] = {
    "int": ("0", "1", "-1", "10**6"),
    "float": ("0.0", "-1.5", "1e9"),
    "str": ("''", "'a'", "' '", "'ÄöZ 9'"),
    "bool": ("True", "False"),
    "bytes": ("b''", "b'\\x00'"),
    "list": ("[]", "[0]"),
    "tuple": ("()",),
    "set": ("set()",),
    "dict": ("{}",),
    "Sequence": ("[]",),
    "Iterable": ("[]",),
    "Mapping": ("{}",),
}


def adversarial_calls(variables: Mapping[str, object]) -> str:
    """Calls at the borders of what hints and tests show, one argument moved at a time."""
    code = str(variables["code"])
    tests = variables["test_cases"]
    assert isinstance(tests, Sequence)
    try:
        functions = {
            node.name: node
            for node in tree_of(code).body
            if isinstance(node, ast.FunctionDef) and not node.name.startswith(("_", "test"))
        }
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        functions = {}
    seen = _calls_seen(tests, functions)
    calls: dict[str, AdversarialCall] = {}
    for name, function in functions.items():
        known = seen.get(name, [])
        for call, why in _moved(name, known) if known else _from_hints(name, function):
            made = {f"{name}({', '.join(arguments)})" for arguments in known}
            if call not in made and len(call) <= LONGEST:
                calls.setdefault(call, AdversarialCall(call=call, why=why))
    return AdversarialCalls(calls=tuple(calls.values())[:MOST_CALLS]).model_dump_json()


def _calls_seen(
    tests: Iterable[TestCase], functions: Mapping[str, ast.FunctionDef]
) -> dict[str, list[list[str]]]:
    """Literal argument lists of each function's calls in the tests."""
    seen: dict[str, list[list[str]]] = {}
    for test in tests:
        try:
            tree = parse(test.code)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id in functions
                and not node.keywords
                and all(is_literal(argument) for argument in node.args)
            ):
                arguments = [ast.unparse(argument) for argument in node.args]
                if arguments not in seen.setdefault(node.func.id, []):
                    seen[node.func.id].append(arguments)
    return seen


def _moved(name: str, known: Sequence[Sequence[str]]) -> Iterator[tuple[str, str]]:
    """Each argument of a known call moved to the border of its type, others kept."""
    base = known[0]
    for place, text in enumerate(base):
        for border in _borders(ast.literal_eval(text)):
            arguments = [*base[:place], border, *base[place + 1 :]]
            yield f"{name}({', '.join(arguments)})", f"argument {place + 1} at a border of its type"


def _borders(value: object) -> tuple[str, ...]:
    match value:
        case bool():
            return (repr(not value),)
        case int():
            return tuple(dict.fromkeys(("0", "1", repr(-value), repr(value + 1))))
        case float():
            return ("0.0", repr(-value))
        case str():
            return ("''", "' '", repr(value[:1]), repr(value * 2))
        case list() | tuple():
            kind = type(value)
            return (repr(kind()), repr(kind(value[:1])), repr(kind(reversed(value))))
        case dict():
            return ("{}", repr(dict(list(value.items())[:1])))
        case set():
            return ("set()",)
        case _:
            return ()


def _from_hints(name: str, function: ast.FunctionDef) -> Iterator[tuple[str, str]]:
    """Calls by type hints alone, where every parameter that must be given has a known one."""
    required = function.args.args[: len(function.args.args) - len(function.args.defaults)]
    if any(default is None for default in function.args.kw_defaults):
        return
    choices: list[tuple[str, ...]] = []
    for parameter in required:
        hint = _hint(parameter.annotation)
        if hint not in _BY_HINT:
            return
        choices.append(_BY_HINT[hint])
    if not choices:
        yield f"{name}()", "called as it is"
        return
    for turn in range(max(len(options) for options in choices)):
        arguments = [options[turn % len(options)] for options in choices]
        yield f"{name}({', '.join(arguments)})", "arguments at the border of their hints"


def _hint(annotation: ast.expr | None) -> str:
    """The bare name of a hint: `list[int]` is `list`, `typing.List` is `list`."""
    match annotation:
        case ast.Subscript(value=value):
            return _hint(value)
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name if name in _BY_HINT else name.lower()
        case _:
            return ""
