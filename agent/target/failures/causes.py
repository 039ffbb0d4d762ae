"""Diagnoses from a report why a program fails, and whether an edit can repair it.

Not fixable by editing the program: a missing package, the end of the input, missing arguments, a
missing file or network, and, without a test, a deliberate `raise` or `sys.exit`.
"""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from agent.core.domain import (
    Diagnosis,
    Report,
    Solution,
    SuspiciousLine,
    Task,
    TestCase,
    Verdict,
    counted,
)
from agent.core.trees import expression
from agent.target.environment import (
    explain_missing_package,
    is_of_python_2,
    modules_in,
    modules_of,
    nearest_module,
    standard_modules,
)
from agent.target.parsing import (
    FunctionNode,
    called_name,
    dotted,
    lines_of,
    parsed,
    toplevel_names,
    where,
)
from sandbox import DENIAL_MEANINGS

EVIDENCE_SHOWN = 5
LONGEST = 60
"""Maximum length of a value in a cause, in characters."""

_RAISED = re.compile(
    r"^(?P<exception>[A-Za-z_][\w.]*)(?::\s*(?P<message>.*?))?"
    r"(?:\s+at line (?P<line>\d+)(?:\s+\((?P<file>[^)]*)\))?)?\.?$",
    re.DOTALL,
)
_NO_ATTRIBUTE = re.compile(r"module '[\w.]+' has no attribute")
_UNDEFINED = (
    re.compile(r"NameError: name '(?P<name>\w+)' is not defined"),
    re.compile(r"cannot import name '(?P<name>\w+)' from '(?P<module>[\w.]+)'"),
    re.compile(r"module '(?P<module>[\w.]+)' has no attribute '(?P<name>\w+)'"),
)
_NO_MODULE = re.compile(r"No module named '([\w.]+)'")
_EMPTY_INPUT = re.compile(r"(?:''|b''|got 0\))$")
_CAPTURED = "reading from stdin while output is captured"
_ARGUMENT = re.compile(r"\bargv\s*\[")
_PARSES = re.compile(r"\bparse(_known)?_args\s*\(")
_ARGUMENTS = re.compile(r"\bargv\b")
_NETWORK = frozenset({
    "ConnectionError", "ConnectionRefusedError", "ConnectionResetError", "gaierror", "URLError",
    "ConnectionAbortedError", "ConnectTimeout", "ConnectError", "herror",
})
_FILES = frozenset({"FileNotFoundError", "PermissionError", "NotADirectoryError"})
_REFUSED = frozenset({"PermissionError", "OSError", "BlockingIOError", *_NETWORK})
"""Exceptions of a program that does not catch a refusal of the sandbox, except file errors."""
_LISTS_A_FOLDER = re.compile(r"\b(listdir|scandir|walk)\(")
_EXIT_CALLS = frozenset({"sys.exit", "exit", "quit", "os._exit"})
_NAMES = frozenset({"NameError", "UnboundLocalError"})


@dataclass(frozen=True)
class Failure:
    """One failure, from a verdict or from the program's ending."""

    exception: str
    message: str
    line: int | None
    shown: str
    test: str = ""
    refused: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.exception.rpartition(".")[2]


def classify(report: Report, task: Task, solution: Solution | None = None) -> Diagnosis:
    """The category of a failure and whether an edit can help.

    `solution` is the judged program, by default that of the task.
    """
    program = solution or task.solution
    text = program.text if program is not None else ""
    failures = failures_of(report)
    evidence = tuple(dict.fromkeys(failure.shown for failure in failures))[:EVIDENCE_SHOWN]
    diagnosis = (
        _syntax(text, program)
        or _not_fixable(failures, task, text)
        or _fixable(failures, report, text, task)
    )
    return diagnosis.model_copy(update={"evidence": diagnosis.evidence or evidence})


def failures_of(report: Report) -> tuple[Failure, ...]:
    """The failures, tests first; a failed assertion has no exception."""
    found = [_from_verdict(verdict) for verdict in report.failing]
    ending = report.ending
    if ending is not None and ending.crashed:
        shown = f"{ending.exception}{ending.message_suffix}" if ending.exception else ending.limit
        exception = ending.exception or ("" if ending.kind != "timeout" else "timeout")
        place = f" at line {ending.line}" if ending.line else ""
        shown = "; ".join([shown + place, *ending.refused])
        found.append(Failure(exception, ending.message, ending.line, shown, refused=ending.refused))
    return tuple(found)


def undefined_in_tests(
    report: Report, tests: Sequence[TestCase], program: Solution
) -> dict[str, tuple[str, str]]:
    """Failing tests that use a name which the program does not define.

    Returns:
        By test name: the undefined name, and a similar name of the program or an empty text.
    """
    text = "\n".join(file.text for file in program.files)
    own = modules_in(file.path for file in program.files) | {"", "solution"}
    codes = {test.name: test.code for test in tests}
    found = {}
    for verdict in report.failing:
        matches = (pattern.search(verdict.message) for pattern in _UNDEFINED)
        groups = next((match.groupdict() for match in matches if match), {})
        name, word = groups.get("name", ""), re.compile(rf"\b{groups.get('name')}\b")
        if groups.get("module", "") in own and word.search(codes.get(verdict.test, "")) and (
            not word.search(text)
        ):
            near = difflib.get_close_matches(name, sorted(toplevel_names(program.text)), 1)
            found[verdict.test] = name, near[0] if near else ""
    return found


def _from_verdict(verdict: Verdict) -> Failure:
    shown = f"{verdict.name}: {verdict.message or verdict.status}"
    if verdict.status == "timeout":
        return Failure("timeout", verdict.message, None, shown, verdict.name)
    match = _RAISED.match(verdict.message.strip())
    if match is None or not _is_exception(match["exception"]):
        return Failure("", verdict.message, None, shown, verdict.name)
    line = int(match["line"]) if match["line"] else None
    return Failure(match["exception"], match["message"] or "", line, shown, verdict.name)


def _is_exception(name: str) -> bool:
    last = name.rpartition(".")[2]
    return last.endswith(("Error", "Exception", "Warning", "Exit", "Interrupt", "Iteration")) or (
        last in _NETWORK
    )


def _syntax(text: str, program: Solution | None) -> Diagnosis | None:
    try:
        parsed(text)
    except SyntaxError as error:
        suspicious: tuple[SuspiciousLine, ...] = ()
        if error.lineno:
            lines = text.split("\n")
            shown = lines[error.lineno - 1].strip() if error.lineno <= len(lines) else ""
            suspicious = (SuspiciousLine(line=error.lineno, suspicion=1.0, text=shown),)
        entry = program.entry if program is not None else "the program"
        return Diagnosis(
            category="syntax", cause=f"{entry} does not parse: {where(error)}",
            evidence=(f"SyntaxError: {where(error)}",), suspicious_lines=suspicious, confidence=1.0,
        )
    return None


def _not_fixable(failures: tuple[Failure, ...], task: Task, text: str) -> Diagnosis | None:
    """A cause outside the program that explains all failures, if each has an exception."""
    raised = [failure for failure in failures if failure.exception]
    if not raised or len(raised) < len(failures):
        return None
    for cause_of in (_missing_package, _input_ended, _arguments, _environment, _deliberate):
        causes = [cause_of(failure, task, text) for failure in raised]
        if all(causes):
            return causes[0]
    return None


def _missing_package(failure: Failure, task: Task, text: str) -> Diagnosis | None:
    module = _NO_MODULE.search(failure.message)
    if failure.name != "ModuleNotFoundError" or module is None:
        return None
    cause = explain_missing_package(module.group(1).partition(".")[0], task)
    return Diagnosis(
        category="missing_package", fixable=False, confidence=0.95,
        cause=f"{cause[:1].upper()}{cause[1:]}",
    ) if cause else None


def _input_ended(failure: Failure, task: Task, text: str) -> Diagnosis | None:
    if "input" not in text and "stdin" not in text:
        return None
    given = "more input than was given" if task.stdin else "input, and none was given"
    cause = f"The program asks for {given}. Provide it with --stdin TEXT or --stdin @FILE."
    if _CAPTURED in failure.message:
        cause = (
            "The program reads standard input, which is empty under pytest. Set it in the test, "
            "for example: monkeypatch.setattr('sys.stdin', io.StringIO('…'))."
        )
    elif failure.name != "EOFError" and not _read_empty_stdin(failure, task, text):
        return None
    return Diagnosis(category="input_exhausted", fixable=False, confidence=0.9, cause=cause)


def _read_empty_stdin(failure: Failure, task: Task, text: str) -> bool:
    """Whether a program fails because it read empty standard input."""
    reads = _line_of(text, failure.line) if failure.test else text
    return not task.stdin and "stdin" in reads and (
        failure.name in ("IndexError", "StopIteration")
        or (failure.name == "ValueError" and _EMPTY_INPUT.search(failure.message) is not None)
    )


def _arguments(failure: Failure, task: Task, text: str) -> Diagnosis | None:
    """A program that exits for lack of arguments before a test can call it."""
    if failure.name != "SystemExit" or failure.message in ("", "0", "None"):
        return None
    ending = _deliberate_exit_at(text, failure.line)
    asks = _PARSES.search(_line_of(text, failure.line)) or (ending is not None and any(
        isinstance(one, ast.If) and ending in [*one.body, *one.orelse]
        and _ARGUMENTS.search(ast.unparse(one.test))
        for one in ast.walk(parsed(text))
    ))
    if not asks:
        return None
    wanted = "other arguments than were" if task.argv else "arguments, and none were"
    message = f" ({failure.message})" if not failure.message.isdigit() else ""
    return _not_fixable_environment(
        f"The program exits at line {failure.line}{message}: it asks for {wanted} given. Provide "
        'them after --, or parse them under `if __name__ == "__main__":`, where tests do not reach '
        "them."
    )


def _environment(failure: Failure, task: Task, text: str) -> Diagnosis | None:
    line = _line_of(text, failure.line)
    if failure.name == "IndexError" and _ARGUMENT.search(line) and not failure.test:
        asks = "more arguments than were" if task.argv else "arguments, and none were"
        cause = f"The program asks for {asks} given. Provide them after --."
        return _not_fixable_environment(cause)
    refused = [words for words in failure.refused if words != DENIAL_MEANINGS["files"]]
    if refused and failure.name in _REFUSED:
        return _not_fixable_environment(
            f"The program needs what the sandbox does not allow: {'; '.join(refused)}."
        )
    if failure.name in _FILES:
        wanted = re.search(r"'([^']*)'", failure.message)
        name = wanted.group(1) if wanted else ""
        support = [file.path for file in task.support]
        if name and not name.startswith("/") and difflib.get_close_matches(name, support, n=1):
            return None
        if name and "/" not in name and _LISTS_A_FOLDER.search(text):
            return None  # the folder is missing from the path
        if failure.test and name.startswith("/") and "/pytest-of-" in name:
            return None  # a temporary file that only the test could have created
        if not name and failure.name == "PermissionError":
            # The message would name a file. A verdict does not say which rule was violated.
            return _not_fixable_environment(
                f"The program needs what the sandbox does not allow: {failure.message}. It allows "
                "no network, no second process and no signals to other processes."
            )
        what = f"the file {name}" if name else "a file"
        verb = "may not use" if failure.name == "PermissionError" else "does not find"
        return _not_fixable_environment(
            f"The program {verb} {what}. If it is a text file that the program reads, submit it "
            "with the program (in a terminal: `--with FILE`)."
        )
    codes = "\n".join([text, *(test.code for test in task.tests)])
    is_raised = re.search(rf"\b{re.escape(failure.name)}\(", codes)
    if "Network is unreachable" in failure.message or (
        failure.name in _NETWORK and not is_raised  # by the program or its tests themselves
    ):
        return _not_fixable_environment(
            "The program needs a network connection, which the sandbox does not allow."
        )
    if failure.name == "KeyError" and "environ" in line:
        variable = failure.message.strip("'\"")
        return _not_fixable_environment(
            f"The program needs the environment variable {variable}, which is not set here. "
            "Give it a default, or set it where the program runs."
        )
    return None


def _not_fixable_environment(cause: str) -> Diagnosis:
    return Diagnosis(category="environment", fixable=False, cause=cause, confidence=0.85)


def _deliberate(failure: Failure, task: Task, text: str) -> Diagnosis | None:
    """A deliberate exit or exception; with tests, which specify what to do, it is fixable."""
    ending = _deliberate_exit_at(text, failure.line)
    if task.tests or failure.test or ending is None:
        return None
    functions = (node for node in ast.walk(parsed(text)) if isinstance(node, FunctionNode))
    within = any(ending in ast.walk(node) for node in functions)
    shown = ast.unparse(ending).split("\n")[0]
    return Diagnosis(
        category="deliberate_exit", fixable=False, confidence=0.7 if within else 0.9,
        cause=(
            f"The program exits deliberately at line {ending.lineno}: {shown}. This is not a "
            "crash. Add a test that specifies what it should do instead."
        ),
    )


def _deliberate_exit_at(text: str, line: int | None) -> ast.stmt | None:
    """The `raise`, `sys.exit` or assert at that line, except re-raised exceptions."""
    try:
        nodes = list(ast.walk(parsed(text)))
    except SyntaxError:
        return None
    caught = {node.name for node in nodes if isinstance(node, ast.ExceptHandler) and node.name}
    for node in nodes:
        if not isinstance(node, ast.stmt) or line not in lines_of(node):
            continue
        match node:
            case ast.Raise(exc=ast.expr() as exception, cause=None):
                if dotted(exception) not in caught:
                    return node
            case ast.Assert():
                return node
            case ast.Expr(value=value) if called_name(value) in _EXIT_CALLS:
                return node
    return None


def _fixable(failures: tuple[Failure, ...], report: Report, text: str, task: Task) -> Diagnosis:
    if not failures:
        return Diagnosis(category="unknown", cause="No failure was found", confidence=0.2)
    first = next((failure for failure in failures if failure.exception), failures[0])
    if first.exception == "timeout":
        return Diagnosis(
            category="endless", confidence=0.8,
            cause="The program does not finish in time; a loop or recursion never ends",
        )
    if not first.exception:
        return _wrong_result(failures, report)
    place = f" at line {first.line}" if first.line else ""
    message = f": {first.message}" if first.message else ""
    raised = f"{first.name}{message}{place}"
    match first.name:
        case "SyntaxError" | "IndentationError" | "TabError":
            return Diagnosis(category="syntax", cause=raised, confidence=0.9)
        case "ModuleNotFoundError" | "ImportError":
            cause = f"An import fails: {raised}{_import_hint(first, task)}"
            return Diagnosis(category="import", cause=cause, confidence=0.9)
        case "RecursionError":
            cause = f"A recursion never ends: {raised}"
            return Diagnosis(category="endless", cause=cause, confidence=0.8)
        case "AssertionError":
            return _wrong_result(failures, report)
        case "SystemExit":
            cause = f"The program exits{place}{message} before the test has its result"
            return Diagnosis(category="deliberate_exit", cause=cause, confidence=0.7)
        case name if name in _NAMES or _NO_ATTRIBUTE.match(first.message):
            cause = f"An undefined name is used: {raised}"
            return Diagnosis(category="name", cause=cause, confidence=0.9)
    return Diagnosis(category="crash", cause=f"The program crashes: {raised}", confidence=0.8)


def _wrong_result(failures: tuple[Failure, ...], report: Report) -> Diagnosis:
    failing = report.failing
    total = len({verdict.name for verdict in report.verdicts})
    cause = f"{len(failing)} of {counted(total, 'test')} {'fails' if total == 1 else 'fail'}"
    shown = next((v for v in failing if v.call and v.expected and v.got), None)
    explained = next((v for v in failing if v.message), None)
    if shown is not None:
        call = _brief_call(shown.call)
        prefix = f"{_brief(shown.name)}: " if call != shown.call else ""
        gives = f"{call} gives {_brief(shown.got)} where {_brief(shown.expected)} is expected"
        cause = f"{prefix}{gives}"
    elif explained is not None:
        cause = f"{cause}: {_brief(explained.name)}: {_brief(explained.message)}"
    return Diagnosis(category="wrong_result", cause=cause, confidence=0.6)


def _brief(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _brief_call(call: str) -> str:
    """The call, with each of its arguments shortened if it is long."""
    if len(call) <= 2 * LONGEST:
        return call
    found = expression(call)
    if not isinstance(found, ast.Call):
        return _brief(call)
    given = [_brief(ast.unparse(one)) for one in found.args]
    given += [
        f"{one.arg}=" * bool(one.arg) + _brief(ast.unparse(one.value)) for one in found.keywords
    ]
    return f"{_brief(ast.unparse(found.func))}({', '.join(given)})"


def _import_hint(failure: Failure, task: Task) -> str:
    module = _NO_MODULE.search(failure.message)
    if module is None:
        return ""
    name = module.group(1)
    if is_of_python_2(name):
        return f"; {name} is a module of Python 2"
    near = nearest_module(name, standard_modules() | modules_of(task))
    return f"; did you mean {near}?" if near else ""


def _line_of(text: str, line: int | None) -> str:
    lines = text.split("\n")
    return lines[line - 1] if line and line <= len(lines) else ""
