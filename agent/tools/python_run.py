"""Runs Python in the jail over given files, as a `python …` command would."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from agent.core.domain import Solution, Task
from agent.target.repository.tree import MAX_FILE_BYTES
from agent.tools.errors import NotPython, ToolError
from agent.verify import jail_modules
from agent.verify.subject import Subject
from sandbox import Job, Json, Limits, Outcome, Sandbox

MAX_CHANGED_BYTES = 8_000_000
"""A byte takes up to six in JSON, and a job's messages are limited."""
_PYTHON = re.compile(r"python(3(\.\d+)?)?")
_PYTEST = ("pytest", "py.test")
_IGNORED = frozenset({"-u", "-B", "-s", "-I", "-E"})
"""Options without effect here: output is unbuffered, and the user's environment is not read."""
_VERSION = ["-c", "import platform; print('Python', platform.python_version())"]
HINT = (
    "use file_list, file_read, file_write, edit_file, search or execute_code, or a `python …` "
    "command"
)


@dataclass(frozen=True)
class CodeResult:
    stdout: str
    stderr: str
    exit_code: int | None
    """`None` where the system ended it."""
    timed_out: bool
    error: str
    """Why it failed; empty where it succeeded."""
    blocked: tuple[str, ...] = ()
    """Which blocked imports it tried, as reported by its own (untrusted) process."""
    seconds: float = 0.0
    changed: Mapping[str, str] = field(default_factory=dict, repr=False)
    removed: tuple[str, ...] = field(default=(), repr=False)
    left_out: tuple[str, ...] = field(default=(), repr=False)
    changes_known: bool = field(default=True, repr=False)
    """Whether the changes of files were reported; otherwise they are unknown."""

    @property
    def success(self) -> bool:
        return self.exit_code == 0 and not self.error


async def run_python(
    arguments: Sequence[str], files: Mapping[str, str], sandbox: Sandbox, limits: Limits, *,
    stdin: str = "", package_folders: tuple[str, ...] = (), roots: Sequence[str] = (),
    blocked: Sequence[str] = (), processes: bool = False, keep: bool = False,
) -> CodeResult:
    """Runs `python` with these arguments in a jail that holds these files.

    With `keep` the result has the files that were changed. Raises `SandboxError`.
    """
    ours = await jail_modules.bundle(sandbox, package_folders, with_pytest=True)
    payload: dict[str, Json] = {
        "arguments": [*arguments], "roots": [*roots], "blocked": [*blocked],
        "keep": keep and ours.opens_files, "opens": ours.opens_files,
        "most_bytes": [MAX_FILE_BYTES, MAX_CHANGED_BYTES],
    }
    return _result(await sandbox.run(Job(
        program=jail_modules.program("python_command"), payload=payload, modules=ours.modules,
        files=files, stdin=stdin, package_folders=ours.package_folders, processes=processes,
        limits=limits,
    )), keep and ours.opens_files)


async def run_snippet(
    code: str, solution: Solution, task: Task, sandbox: Sandbox, limits: Limits
) -> CodeResult:
    """Runs code that uses a program's names, in a jail with the program and its support files.

    Raises `SandboxError`.
    """
    subject = Subject(solution, task, sandbox, limits.wall_s)
    ours = await jail_modules.bundle(sandbox, task.site_dirs, with_pytest=True)
    files = {file.path: file.text for file in (*task.support, *solution.files)}
    return _result(await sandbox.run(Job(
        program=jail_modules.program("snippet"),
        payload={**subject.payload, "text": solution.text, "code": code},
        modules=ours.modules, files=files, stdin=task.stdin, package_folders=ours.package_folders,
        preload=subject.preload, limits=limits,
    )), keep=False)


def _result(outcome: Outcome, keep: bool) -> CodeResult:
    messages = [one for one in outcome.messages if isinstance(one, dict)]
    changes = next((one for one in reversed(messages) if "changed" in one), {})
    changed = changes.get("changed")
    return CodeResult(
        stdout=outcome.stdout, stderr=outcome.stderr, exit_code=_exit_code(outcome),
        # Several threads together reach the processor-time limit before the wall-time limit.
        timed_out=outcome.ended == "timeout" or outcome.signal == "SIGXCPU",
        error=_error(outcome, messages),
        blocked=tuple(dict.fromkeys(str(one["blocked"]) for one in messages if "blocked" in one)),
        seconds=outcome.wall_s,
        changed={
            path: text for path, text in changed.items() if isinstance(text, str)
        } if isinstance(changed, dict) else {},
        removed=_words(changes.get("gone")), left_out=_words(changes.get("left_out")),
        changes_known=not keep or "changed" in changes,
    )


def _exit_code(outcome: Outcome) -> int | None:
    match outcome.ended:
        case "completed":
            return 0
        case "exited":
            return outcome.exit_code
        case _:
            return None


def _error(outcome: Outcome, messages: Sequence[dict[str, Json]]) -> str:
    raised = next((one for one in messages if "raised" in one), None)
    if outcome.ended not in ("completed", "exited"):
        reason = outcome.limit or outcome.signal or outcome.ended
    elif raised is not None:
        reason = f"{raised['raised']}: {raised.get('message', '')}".removesuffix(": ")
    elif outcome.exit_code:
        reason = f"it ended with exit code {outcome.exit_code}"
    else:
        return ""
    return "; ".join([reason, *outcome.refusals])


def _words(value: object) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list) else ()


def python_arguments(command: str) -> list[str]:
    """The arguments of `python` in a command line; raises `ToolError` for any other command."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    try:
        program, *rest = [*lexer] or [""]
    except ValueError as error:
        raise ToolError(f"the command cannot be read: {error}") from error
    for word in rest:
        if word and not word.strip("();<>|&"):
            raise NotPython(f"there is no shell in the jail, so `{word}` has no meaning", HINT)
    name = program.rpartition("/")[2]
    if name in _PYTEST:
        return ["-m", "pytest", *rest]
    if not _PYTHON.fullmatch(name):
        raise NotPython(
            f"there is no shell and no program except Python in the jail, so `{program}` cannot be "
            "run", HINT,
        )
    while rest and rest[0] in _IGNORED:
        rest = rest[1:]
    match rest:
        case ["-V" | "--version", *_]:
            return _VERSION
        case ["-c" | "-m", _, *_]:
            return rest
        case [str(script), *_] if not script.startswith("-"):
            return rest
    raise ToolError("python takes a script, `-m MODULE` or `-c CODE`, and no other options")
