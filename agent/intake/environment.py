"""The surroundings of a program: folders of packages, sibling files, packages that are missing.

What only reads is here too, in two thin functions: `site_folders` asks an interpreter,
`sibling_files` reads a folder. Everything else is pure.
"""

from __future__ import annotations

import ast
import difflib
import json
import os
import re
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent.domain import File
from agent.intake.errors import BadInput
from agent.intake.parsing import is_definition, parsed
from agent.intake.source import read_source

MOST_SIBLINGS = 50
MOST_SIBLING_BYTES = 1_000_000
ASK_WALL_S = 20.0

PIP_NAMES: dict[str, str] = {
    "attr": "attrs", "bs4": "beautifulsoup4", "Crypto": "pycryptodome", "cv2": "opencv-python",
    "dateutil": "python-dateutil", "docx": "python-docx", "dotenv": "python-dotenv",
    "fitz": "PyMuPDF", "git": "GitPython", "googleapiclient": "google-api-python-client",
    "jwt": "PyJWT", "magic": "python-magic", "MySQLdb": "mysqlclient", "OpenSSL": "pyOpenSSL",
    "PIL": "Pillow", "pkg_resources": "setuptools", "pptx": "python-pptx",
    "psycopg2": "psycopg2-binary", "serial": "pyserial", "skimage": "scikit-image",
    "sklearn": "scikit-learn", "slugify": "python-slugify", "telegram": "python-telegram-bot",
    "usb": "pyusb", "websocket": "websocket-client", "win32com": "pywin32", "wx": "wxPython",
    "yaml": "PyYAML", "zmq": "pyzmq",
}
"""Import name to the name pip knows, where they differ."""

WELL_KNOWN = frozenset(PIP_NAMES) | frozenset({
    "aiohttp", "altair", "anthropic", "arrow", "boto3", "celery", "click", "colorama",
    "cryptography", "cython", "dash", "dask", "django", "fastapi", "flask", "gensim", "gevent",
    "gradio", "h5py", "httpx", "hypothesis", "jax", "jinja2", "jsons", "jsonschema", "keras",
    "langchain", "langgraph", "lxml", "markdown", "marshmallow", "matplotlib", "mpmath",
    "networkx", "nltk", "numba", "numpy", "openai", "openpyxl", "orjson", "pandas", "paramiko",
    "pathlib2", "peewee", "pendulum", "plotly", "polars", "psutil", "psycopg", "pyarrow",
    "pydantic", "pygame", "pyglet", "pymongo", "pymysql", "pytest", "regex", "redis",
    "requests", "rich", "ruamel", "scipy", "scrapy", "seaborn", "selenium", "simplejson", "six",
    "spacy", "sqlalchemy", "starlette", "statsmodels", "streamlit", "sympy", "tabulate",
    "tensorflow", "toml", "torch", "torchvision", "tornado", "tqdm", "transformers", "typer",
    "typing_extensions", "ujson", "urllib3", "uvicorn", "websockets", "werkzeug", "xlrd",
})
"""Packages that exist, so that a name near the standard library's is still their own."""

RENAMED_SINCE_2 = frozenset({
    "__builtin__", "BaseHTTPServer", "ConfigParser", "Cookie", "cookielib", "copy_reg",
    "cPickle", "cStringIO", "HTMLParser", "httplib", "Queue", "SocketServer", "StringIO",
    "Tkinter", "tkMessageBox", "urllib2", "urlparse", "UserDict",
})
"""Modules of Python 2 that live on under another name: an import of one is a bug to repair."""

REMOVED_IN: dict[str, str] = dict.fromkeys(
    ("asynchat", "asyncore", "distutils", "imp", "smtpd"), "3.12"
) | dict.fromkeys(
    ("aifc", "audioop", "cgi", "cgitb", "chunk", "crypt", "imghdr", "lib2to3", "mailcap",
     "msilib", "nis", "nntplib", "ossaudiodev", "pipes", "sndhdr", "spwd", "sunau", "telnetlib",
     "uu", "xdrlib"), "3.13"
)
"""Modules that left the standard library, and the version that lacks them first."""


@dataclass(frozen=True)
class Missing:
    """A module that cannot be imported here; `lazy` where it is not asked for at once: by a
    function, or on a condition."""

    name: str
    line: int
    lazy: bool = False

    @property
    def advice(self) -> str:
        """One sentence that says what to do."""
        if self.name in REMOVED_IN:
            return (
                f"{self.name} left the standard library in Python {REMOVED_IN[self.name]}; "
                "use an older Python, or what replaced it."
            )
        pip = PIP_NAMES.get(self.name, self.name)
        return f"Install it (pip install {pip}), or name an interpreter that has it: --python PATH."

    @property
    def sentence(self) -> str:
        if self.name in REMOVED_IN:
            return f"Line {self.line} imports {self.name}. {self.advice}"
        return f"Line {self.line} imports {self.name}, which is not installed here. {self.advice}"


def missing_packages(
    texts: Iterable[str],
    sites: Sequence[str] = (),
    support_names: Iterable[str] = (),
    python_version: tuple[int, int] = (sys.version_info[0], sys.version_info[1]),
) -> tuple[Missing, ...]:
    """Modules the texts import that are neither standard, installed in `sites`, nor beside them.

    An import that is tried (`except ImportError`) or for type checkers only is not needed. A
    near-typo of a module that is there (`import maths`) is a bug to repair, not a package.
    """
    support = frozenset(support_names)
    standard = standard_modules(python_version)
    found: dict[str, Missing] = {}
    installed: frozenset[str] | None = None
    for text in texts:
        for name, line, lazy in imports_in(text):
            if name in standard or name in support or (name in found and not found[name].lazy):
                continue
            if installed is None:
                installed = installed_modules(sites)
            if name in installed or is_misspelt(name, standard | support | installed):
                continue
            found[name] = Missing(name, line, lazy)
    return tuple(found.values())


def standard_modules(python_version: tuple[int, int]) -> frozenset[str]:
    """Top-level names of the standard library in that version."""
    present = sys.stdlib_module_names | {"__main__", "__future__"}
    for name, since in REMOVED_IN.items():
        gone = python_version >= tuple(int(part) for part in since.split("."))
        present = present - {name} if gone else present | {name}
    return frozenset(present)


def is_misspelt(name: str, known: Iterable[str]) -> bool:
    """Whether the name is a slip for a module that is there: one letter, two where it is long."""
    if name in RENAMED_SINCE_2:
        return True
    if name in WELL_KNOWN or name in REMOVED_IN:
        return False
    return nearest_module(name, known) is not None


def nearest_module(name: str, known: Iterable[str]) -> str | None:
    """The known module that the name is most likely a misspelling of."""
    allowed = 1 if len(name) <= 5 else 2
    if len(name) < 3:
        return None
    candidates = sorted(
        (distance(name.lower(), other.lower(), allowed), other)
        for other in known
        if not other.startswith("_") and abs(len(other) - len(name)) <= allowed and len(other) >= 3
    )
    if candidates and candidates[0][0] <= allowed:
        return candidates[0][1]
    return None


def distance(first: str, second: str, enough: int) -> int:
    """Edits that turn one word into the other, a swap of neighbours counting one; more than
    `enough` is answered as `enough + 1`."""
    before: list[int] = []
    row = list(range(len(second) + 1))
    for i, a in enumerate(first, start=1):
        older, before, row = before, row, [i]
        for j, b in enumerate(second, start=1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
            if i > 1 and j > 1 and a == second[j - 2] and first[i - 2] == b:
                cost = min(cost, older[j - 2] + 1)
            row.append(cost)
        if min(row) > enough:
            return enough + 1
    return min(row[-1], enough + 1)


def imports_in(text: str) -> Iterator[tuple[str, int, bool]]:
    """(top-level module, line, whether it is asked for later or on a condition only) of every
    needed import."""
    try:
        body = parsed(text).body
    except SyntaxError:
        # Text that does not parse is repaired first; its plain import lines already count.
        for number, line in enumerate(text.split("\n"), start=1):
            match = re.match(r"(?:import|from)\s+([A-Za-z_]\w*)(?:\.\w+)*\s*(?:$|import\b|as\b|#)",
                             line)
            if match:
                yield match.group(1), number, False
        return
    yield from _imports(body, lazy=False)


def _imports(body: Sequence[ast.stmt], *, lazy: bool) -> Iterator[tuple[str, int, bool]]:
    for node in body:
        match node:
            case ast.Import(names=names):
                for alias in names:
                    yield alias.name.partition(".")[0], node.lineno, lazy
            case ast.ImportFrom(module=str(module), level=0):
                yield module.partition(".")[0], node.lineno, lazy
            case ast.Try(handlers=handlers) if any(map(_catches_import, handlers)):
                yield from _imports([*node.orelse, *node.finalbody], lazy=lazy)
            case ast.If(test=test) if ast.unparse(test).endswith("TYPE_CHECKING"):
                yield from _imports(node.orelse, lazy=lazy)
            case _:
                inner_lazy = lazy or isinstance(node, ast.If) or (
                    is_definition(node) and not isinstance(node, ast.ClassDef)
                )
                for child in ast.iter_child_nodes(node):
                    if isinstance(child, ast.stmt):
                        yield from _imports([child], lazy=inner_lazy)
                    elif isinstance(child, (ast.ExceptHandler, ast.match_case)):
                        yield from _imports(child.body, lazy=inner_lazy)


def _catches_import(handler: ast.ExceptHandler) -> bool:
    if handler.type is None:
        return True
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(
        ast.unparse(kind) in ("ImportError", "ModuleNotFoundError", "Exception", "BaseException")
        for kind in kinds
    )


def installed_modules(sites: Sequence[str]) -> frozenset[str]:
    """Top-level names that can be imported from these folders."""
    found: set[str] = set()
    for site in sites:
        try:
            with os.scandir(site) as entries:
                found |= {
                    name for entry in entries
                    if (name := _module_name(entry.name, entry.is_dir())) is not None
                }
        except OSError:
            # A folder that is not there holds no modules; site_folders names only those that are.
            continue
        found |= set(_editable_modules(Path(site)))
    return frozenset(found)


def _module_name(name: str, is_folder: bool) -> str | None:
    if is_folder:
        return name if name.isidentifier() and name != "__pycache__" else None
    stem, _, suffix = name.partition(".")
    importable = suffix == "py" or suffix.endswith(("so", "pyd"))
    return stem if importable and stem.isidentifier() else None


def _editable_modules(site: Path) -> Iterator[str]:
    """Modules of packages installed in place, by the folders their `.pth` files name."""
    for pth in site.glob("*.pth"):
        for line in pth.read_text(encoding="utf-8", errors="replace").split("\n"):
            folder = line.strip()
            if folder and not folder.startswith(("#", "import ", "import\t")) and os.path.isdir(
                os.path.join(site, folder)
            ):
                for entry in os.scandir(os.path.join(site, folder)):
                    name = _module_name(entry.name, entry.is_dir())
                    if name is not None:
                        yield name


@dataclass(frozen=True)
class Interpreter:
    """Package folders of an interpreter; `note` is for people, where something may not fit."""

    sites: tuple[str, ...]
    note: str = ""


_QUESTION = (
    "import json, sys, sysconfig, site\n"
    "paths = [sysconfig.get_path('purelib'), sysconfig.get_path('platlib')]\n"
    "if site.ENABLE_USER_SITE: paths.append(site.getusersitepackages())\n"
    "paths += [p for p in sys.path if p.endswith(('site-packages', 'dist-packages'))]\n"
    "print(json.dumps([list(sys.version_info[:2]), paths]))\n"
)


def site_folders(python: str | None = None) -> Interpreter:
    """Package folders of our own interpreter, or of the one named: a program or a venv folder.

    Raises `BadInput` where it cannot be asked.
    """
    if python is None:
        own = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
        return Interpreter(_existing(own))
    program = _program(Path(python).expanduser())
    version, paths = _asked(program)
    ours = (sys.version_info[0], sys.version_info[1])
    note = ""
    if version != ours:
        note = (
            f"{program} is Python {version[0]}.{version[1]}, while programs run here under "
            f"{ours[0]}.{ours[1]}: its compiled packages may not import"
        )
    return Interpreter(_existing(paths), note)


def _existing(paths: Iterable[str]) -> tuple[str, ...]:
    real = dict.fromkeys(map(os.path.realpath, paths))
    return tuple(path for path in real if os.path.isdir(path))


def _program(path: Path) -> Path:
    if path.is_dir():
        for inner in ("bin/python", "bin/python3", "Scripts/python.exe", "python.exe"):
            if (path / inner).exists():
                return path / inner
        raise BadInput(
            f"--python {path} is a folder without bin/python. Name an interpreter or the folder "
            "of a virtual environment."
        )
    if not path.exists():
        raise BadInput(f"--python {path} does not exist. Name an interpreter or a venv folder.")
    return path


def _asked(program: Path) -> tuple[tuple[int, int], list[str]]:
    # Isolated, so that neither the folder we stand in nor PYTHON* variables have a say.
    try:
        done = subprocess.run(
            [os.path.abspath(program), "-I", "-c", _QUESTION], stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=ASK_WALL_S, check=False,
        )
    except subprocess.TimeoutExpired:
        raise BadInput(f"--python {program} gave no answer within {ASK_WALL_S:.0f} s.") from None
    except OSError as error:
        raise BadInput(f"--python {program} cannot be run: {error.strerror}.") from None
    try:
        version, paths = json.loads(done.stdout)
        return (int(version[0]), int(version[1])), [str(path) for path in paths if path]
    except (ValueError, TypeError, IndexError, KeyError):
        raise BadInput(
            f"--python {program} does not behave like a Python 3 interpreter "
            f"(exit code {done.returncode})."
        ) from None


def sibling_files(
    folder: Path, texts: Mapping[str, str], *, most: int = MOST_SIBLINGS
) -> tuple[tuple[File, ...], tuple[str, ...]]:
    """Files of the folder that the texts import, directly or through each other, and notices
    of what was left out: at most `most` files and one megabyte. `texts` are files by their paths
    from the folder, and are not found again."""
    found: dict[str, File] = {}
    notices: list[str] = []
    total = 0
    waiting = [name for path, text in texts.items() for name in _wanted(text, path)]
    seen: set[str] = set()
    while waiting:
        name = waiting.pop(0)
        if name in seen:
            continue
        seen.add(name)
        for file in _candidates(folder, name):
            relative = file.relative_to(folder).as_posix()
            if relative in texts or relative in found:
                continue
            text, problem = _read(file)
            total += len(text)
            if not problem and (len(found) >= most or total > MOST_SIBLING_BYTES):
                problem = "too many or too large files beside it; name those needed with --with"
            if problem:
                notices.append(f"{relative} is left out: {problem}")
                continue
            found[relative] = File(path=relative, text=text)
            waiting += _wanted(text, relative)
    return tuple(found.values()), tuple(notices)


def _wanted(text: str, path: str) -> Iterator[str]:
    """Dotted names that the text of a file imports, seen from the top folder."""
    try:
        tree = parsed(text)
    except SyntaxError:
        yield from (name for name, _, _ in imports_in(text))
        return
    package = path.split("/")[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) + 1 - node.level] if node.level else []
            base = ".".join([*above, *filter(None, [node.module])])
            if base:
                yield base
            yield from (f"{base}.{alias.name}".lstrip(".") for alias in node.names)


def _candidates(folder: Path, name: str) -> Iterator[Path]:
    """Files that importing the dotted name may read: a module, and the packages above it."""
    parts = name.split(".")
    if not all(part.isidentifier() for part in parts) or parts[0] in sys.builtin_module_names:
        return
    for part in parts:
        if (folder / f"{part}.py").is_file() and not (folder / part / "__init__.py").is_file():
            yield folder / f"{part}.py"
            return
        folder = folder / part
        if not folder.is_dir():
            return
        if (folder / "__init__.py").is_file():
            yield folder / "__init__.py"


_COOKIE = re.compile(r"^([ \t\f]*#.*?coding[:=][ \t]*)([-\w.]+)", re.ASCII)


def without_cookie(text: str) -> str:
    """The text with its coding cookie, if any, made to say what it is laid down as: UTF-8."""
    lines = text.split("\n", 2)
    for index, line in enumerate(lines[:2]):
        lines[index] = _COOKIE.sub(r"\1utf-8", line)
    return "\n".join(lines)


def _read(file: Path) -> tuple[str, str]:
    """The text of a file beside the program, or why it cannot be used."""
    try:
        return without_cookie(read_source(file, allow_empty=True).text), ""
    except BadInput as error:
        return "", str(error)


def close_name(name: str, names: Iterable[str]) -> str | None:
    """The name most like it, for a hint."""
    found = difflib.get_close_matches(name, list(names), n=1, cutoff=0.6)
    return found[0] if found else None
