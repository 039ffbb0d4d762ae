"""Finds small bug fixes in a repository's history, or between two releases of a package."""

from __future__ import annotations

import ast
import difflib
import io
import itertools
import re
import shutil
import subprocess
import sys
import tarfile
import tokenize
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

MAX_FILES = 3
"""A small fix changes at most this many source files."""
_NOT_SOURCE = {"docs", "doc", "examples", "example", "benchmarks", "scripts", "tools", "setup.py"}
_CONTAINERS = ast.Dict | ast.List | ast.Tuple | ast.Set


class BadRepository(Exception):
    """A repository or package cannot be read; the message says what to do."""


@dataclass(frozen=True)
class MinedFix:
    """A fix: `before` and `after` are the texts of the source files that it changes."""

    id: str
    source: str
    project: str
    before: Mapping[str, str]
    after: Mapping[str, str]
    tests: tuple[str, ...]
    """Test files that it changes."""
    lines: int
    repository: Path | None = None
    commit: str = ""
    archive: Path | None = None

    @property
    def kind(self) -> str:
        return kind_of("\n".join(self.before.values()), "\n".join(self.after.values()))


def is_test(path: str) -> bool:
    """Whether a path is a test file by the usual names."""
    *folders, name = path.lower().split("/")
    return name.endswith(".py") and (
        name.startswith("test") or name.endswith(("_test.py", "_tests.py"))
        or any(one in ("test", "tests", "testing") for one in folders)
    )


def fixes_of_history(source: str, newest: int, most_lines: int) -> Iterator[MinedFix]:
    """Yields small fixes with changed tests, the newest first. Raises `BadRepository`."""
    repository = Path(source).expanduser().absolute()
    if not repository.exists():
        raise BadRepository(f"{source} is not a folder. Clone it first: git clone {source}")
    name = next(part for part in reversed(repository.parts) if part not in ("repo", ".git"))
    log = _git(
        repository, "log", "--no-merges", f"-{newest}", "--format=%x00%H", "--name-status",
        "--no-renames",
    )
    for entry in log.split("\0")[1:]:
        commit, *changes = [line for line in entry.splitlines() if line]
        paths = [line.split("\t", 1) for line in changes]
        sources = [
            path for status, path in paths
            if status == "M" and path.endswith(".py") and not is_test(path)
            and not _NOT_SOURCE & {*path.split("/")}
        ]
        tests = tuple(path for status, path in paths if status in "AM" and is_test(path))
        if not tests or not 1 <= len(sources) <= MAX_FILES:
            continue
        try:
            before, after = (
                {path: _git(repository, "show", f"{one}:{path}") for path in sources}
                for one in (f"{commit}^", commit)
            )
        except (BadRepository, UnicodeError):
            continue
        before = {path: text for path, text in before.items() if changes_code(text, after[path])}
        lines = sum(changed_lines(text, after[path]) for path, text in before.items())
        if 1 <= lines <= most_lines:
            yield MinedFix(
                f"{name}-{commit[:10]}", source, name, before,
                {path: after[path] for path in before}, tests, lines, repository, commit,
            )


def fixes_of_releases(package: str, out: Path, newest: int, most_lines: int) -> Iterator[MinedFix]:
    """Yields the small hunks between successive releases whose tests changed, the newest first.

    Raises `BadRepository` if the registry has no such package.
    """
    listed = _run([sys.executable, "-m", "pip", "index", "versions", package])
    versions = re.findall(r"^Available versions: (.*)$", listed, re.MULTILINE)
    if not versions:
        raise BadRepository(f"{package}: the registry lists no versions")
    names = versions[0].split(", ")[: newest + 1]
    for later, earlier in itertools.pairwise(names):
        try:
            archives = [_sdist(package, version, out) for version in (later, earlier)]
        except BadRepository:
            continue
        new, old = map(_texts, archives)
        tests = tuple(path for path in new if is_test(path) and new[path] != old.get(path))
        for path in new:
            if not tests or is_test(path) or path not in old or _NOT_SOURCE & {*path.split("/")}:
                continue
            for number, before in enumerate(_reverted_hunks(old[path], new[path], most_lines)):
                if changes_code(before, new[path]):
                    yield MinedFix(
                        f"{package}-{later}-{Path(path).stem}-{number}", package, package,
                        {path: before}, {path: new[path]}, tests, changed_lines(before, new[path]),
                        archive=archives[0],
                    )


def _sdist(package: str, version: str, out: Path) -> Path:
    folder = out / "releases" / f"{package}-{version}"
    if not folder.exists():
        _run([
            sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:",
            "--dest", str(folder), f"{package}=={version}",
        ])
    found = [*folder.glob("*.tar.gz")]
    if not found:
        raise BadRepository(f"{package} {version} has no source archive")
    return found[0]


def _texts(archive: Path) -> dict[str, str]:
    with tarfile.open(archive) as tar:
        return {
            member.name.split("/", 1)[1]: file.read().decode("utf-8", "replace")
            for member in tar if member.name.endswith(".py") and "/" in member.name
            and (file := tar.extractfile(member)) is not None
        }


def _reverted_hunks(old: str, new: str, most_lines: int) -> Iterator[str]:
    """Yields, for each small hunk, the new text with this hunk reverted."""
    was, now = old.splitlines(keepends=True), new.splitlines(keepends=True)
    for tag, start, end, left, right in difflib.SequenceMatcher(a=was, b=now).get_opcodes():
        if tag != "equal" and max(end - start, right - left) <= most_lines:
            yield "".join([*now[:left], *was[start:end], *now[right:]])


def write_tree(fix: MinedFix, root: Path) -> None:
    """Deletes the content of a folder and writes the files with the fix into it."""
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    if fix.archive is not None:
        content, strip = fix.archive.read_bytes(), 1
    else:
        assert fix.repository is not None
        content, strip = subprocess.run(
            ["git", "archive", fix.commit], cwd=fix.repository, check=True, capture_output=True
        ).stdout, 0
    with tarfile.open(fileobj=io.BytesIO(content)) as tar:
        for member in tar:
            member.name = "/".join(member.name.split("/")[strip:])
            if member.name:
                tar.extract(member, root, filter="data")


def changes_code(before: str, after: str) -> bool:
    """Whether more than comments, docstrings and layout differ."""
    try:
        return _statements(before) != _statements(after)
    except (SyntaxError, ValueError):
        return False


def changed_lines(before: str, after: str) -> int:
    """The number of changed lines of code; a hunk counts its larger side."""
    was, now = (
        [line.strip() for line in text.splitlines() if line.strip()[:1] not in ("", "#")]
        for text in (before, after)
    )
    return sum(
        max(end - start, right - left)
        for tag, start, end, left, right
        in difflib.SequenceMatcher(a=was, b=now, autojunk=False).get_opcodes() if tag != "equal"
    )


def kind_of(before: str, after: str) -> str:
    """Classifies a fix by its changed statements other than imports: `guard`,
    `new branch`, `wrong name`, `operator`, `condition`, `several statements` and so on."""
    was, now = _statements(before), _statements(after)
    gone: list[str] = []
    new: list[str] = []
    for tag, start, end, left, right in difflib.SequenceMatcher(
        a=was, b=now, autojunk=False
    ).get_opcodes():
        if tag != "equal":
            gone, new = [*gone, *was[start:end]], [*new, *now[left:right]]
    gone, new = _without_imports(gone), _without_imports(new)
    if not gone:
        return _kind_of_added(new)
    if not new:
        return "statement dropped"
    if (len(gone), len(new)) == (1, 1):
        return _kind_of_changed(gone[0], new[0])
    return "guard or branch" if len(new) > len(gone) and _has_branch(new) else "several statements"


def _without_imports(statements: list[str]) -> list[str]:
    return [one for one in statements if not one.startswith(("import ", "from "))]


def _has_branch(new: Sequence[str]) -> bool:
    return any(one.startswith(("if ", "elif ", "else", "try", "except")) for one in new)


def _kind_of_added(new: Sequence[str]) -> str:
    if not new:
        return "import"
    if any(one.startswith(("def ", "async def ", "class ")) for one in new):
        return "method added"
    if _has_branch(new):
        last = new[-1].split(" ")[0]
        return "guard" if last in ("return", "raise", "continue", "break", "pass") else "new branch"
    return "statement added"


def _kind_of_changed(gone: str, new: str) -> str:
    if gone.startswith("except") and new.startswith("except"):
        return "exception type"
    if gone.startswith(("def ", "async def ")):
        return "signature"
    if _is_data(gone) and _is_data(new):
        return "data entry"
    was, now = _tokens(gone), _tokens(new)
    changes = [
        (was[start:end], now[left:right])
        for tag, start, end, left, right
        in difflib.SequenceMatcher(a=was, b=now, autojunk=False).get_opcodes() if tag != "equal"
    ]
    kinds = {kind for pair in changes for part in pair for kind, _ in part}
    if kinds <= {tokenize.STRING}:
        return "text or pattern"
    if kinds <= {tokenize.NUMBER}:
        return "number"
    if len(changes) == 1 and [len(part) for part in changes[0]] == [1, 1]:
        return "wrong name" if kinds == {tokenize.NAME} else "operator"
    if gone.startswith(("if ", "elif ", "while ")):
        return "condition"
    if kinds <= {tokenize.OP}:
        return "grouping"
    added = [text for _, part in changes for _, text in part]
    if not any(part for part, _ in changes) and added[:1] == [","]:
        return "call argument"
    return "expression"


def _is_data(statement: str) -> bool:
    """Whether a statement assigns a table of several entries."""
    try:
        tree = ast.parse(statement)
    except SyntaxError:
        return False
    return any(
        isinstance(node, ast.Assign | ast.AnnAssign) and any(
            isinstance(part, _CONTAINERS) and len(list(ast.iter_child_nodes(part))) > 4
            for part in ast.walk(node)
        ) for node in tree.body
    )


def _tokens(statement: str) -> list[tuple[int, str]]:
    """The tokens of one statement or header."""
    body = statement + (" pass" if statement.endswith(":") else "")
    try:
        return [
            (one.type, one.string) for one in tokenize.generate_tokens(io.StringIO(body).readline)
            if one.string.strip()
        ]
    except (tokenize.TokenError, IndentationError):
        return [(tokenize.NAME, part) for part in statement.split()]


def _statements(text: str) -> list[str]:
    """The statements and headers of a text in order, without docstrings."""
    found: list[str] = []

    def visit(body: Sequence[ast.stmt]) -> None:
        for one in body:
            if isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant):
                continue
            inner = [
                value for value in vars(one).values()
                if isinstance(value, list) and value and isinstance(value[0], ast.stmt)
            ]
            found.append(ast.unparse(one).split("\n")[0] if inner else ast.unparse(one))
            for decorator in getattr(one, "decorator_list", ()):
                found.append("@" + ast.unparse(decorator))
            for value in inner:
                visit(value)
            for handler in getattr(one, "handlers", ()):
                found.append(ast.unparse(handler).split("\n")[0])
                visit(handler.body)
            for case in getattr(one, "cases", ()):
                found.append(ast.unparse(case).split("\n")[0])
                visit(case.body)

    visit(ast.parse(text).body)
    return found


def _git(repository: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=repository, capture_output=True, check=False)
    if done.returncode:
        raise BadRepository(f"{repository}: {done.stderr.decode('utf-8', 'replace').strip()}")
    return done.stdout.decode("utf-8", "replace" if arguments[0] == "log" else "strict")


def _run(command: Sequence[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BadRepository(done.stderr.strip()[-300:])
    return done.stdout
