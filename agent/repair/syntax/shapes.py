"""Statements and expressions of the wrong shape: the pieces are there, put together wrongly."""

from __future__ import annotations

import re
from collections.abc import Callable

from agent.repair.syntax.broken import Broken, Line, Proposal
from agent.repair.syntax.tokens import CLOSERS, OPENERS, Token

_NAME = r"[A-Za-z_]\w*"
_SHAPES: tuple[tuple[float, str, str], ...] = (
    # conditions
    (0.35, r"^(\s*)else\s+(?!if\b)(.+):(.*)$", r"\1elif \2:\3"),
    (0.5, r"^(\s*)else\s+if\b", r"\1elif"),
    (0.4, r"\b(and|or)\s+(?:if|elif|when)\b", r"\1"),
    (0.4, r"(?<![=!<>:])=(?![=])(.*:\s*)$", r"==\1"),
    (0.5, r"\(\s*(\w+)\s*=\s*(?!=)", r"(\1 := "),
    (0.4, r":=", "="),
    (0.4, r":=", "=="),
    (0.35, r"\bin\s+not\b", "not in"),
    (0.35, r"\bnot\s+is\b", "is not"),
    (0.4, r"\bis\s+in\b", "in"),
    (0.45, r"\bis\s+not\s+in\b", "not in"),
    (0.4, r"\b(no|ont|nto|nt|not)\s*t?in\b", "not in"),
    (0.7, rf"\b({_NAME})\s+not\s+(?!in\b)", r"\1 not in "),
    (0.8, r"\bnot\s+=\s*", "!= "),
    # statements
    (0.35, r"^(\s*return)\s*[:=]\s*", r"\1 "),
    (0.35, r"^(\s*(?:return|yield|raise|del|assert|import|break|continue|pass)\b.*?):\s*$", r"\1"),
    (0.35, rf"^(\s*)((?:global|nonlocal)\s+({_NAME}))\s*=\s*(.+)$", r"\1\2\n\1\3 = \4"),
    (0.5, rf"^(\s*)(?:global|nonlocal)\s+({_NAME})\s*=.*$", r"\1global \2"),
    (0.35, r"^(\s*)nonlocal\b", r"\1global"),
    (0.7, r"^\s*(?:global|nonlocal)\b.*\n?", ""),
    (0.4, rf"^(\s*)([^=\s][^=]*?)\s*(?<![=!<>+*/%-])=(?!=)\s*({_NAME}(?:\.{_NAME})*)\s*$",
     r"\1\3 = \2"),
    (0.45, r"^(\s*(?:assert|print|return)\b.*?[^=!<>])=(?!=)", r"\1=="),
    (0.35, rf"^(\s*)([\w.]*{_NAME})\(([^()]*)\)(\s*[-+*/%|&^]?=(?!=))", r"\1\2[\3]\4"),
    (0.35, rf"^(\s*del\s+[\w.]*{_NAME})\(([^()]*)\)\s*$", r"\1[\2]"),
    (0.6, r"^(\s*)del\s+([\w.]+)\(\)\s*$", r"\1del \2"),
    (0.35, r"^(\s*raise\s+[\w.]+)\s+(?!from\b)(.+)$", r"\1(\2)"),
    (0.5, r"^(\s*)raise\s+([\w.]+)\s*:\s*(.+)$", r"\1raise \2(\3)"),
    (0.35, r"^(\s*@[\w.]+(?:\([^()]*\))?)\s+((?:async\s+)?def|class)\b", "\\1\n{indent}\\2"),
    (0.5, r"^(\s*[\w.]+)\s+([-+*/%])\s+=", r"\1 \2="),
    (0.5, r"^(\s*)(\w+)\s*=\s*([-+*/%])\s*=?\s*", r"\1\2 \3= "),
    # functions and classes
    (0.3, rf"^(\s*(?:async\s+)?def\s+{_NAME})\s*:\s*$", r"\1():"),
    (0.32, rf"^(\s*(?:async\s+)?def\s+{_NAME})\s*:\s*$", r"\1(self):"),
    (0.3, rf"^(\s*(?:async\s+)?def\s+{_NAME})\s+([\w, *=]+?)\s*:\s*$", r"\1(\2):"),
    (0.35, rf"^(\s*)({_NAME}\s*\([^()]*\)(?:\s*->\s*[\w.\[\], ]+)?)\s*:\s*$", r"\1def \2:"),
    (0.4, rf"^(\s*)({_NAME}\s*\([^()]*\))\s*\{{?\s*$", r"\1def \2:"),
    (0.45, r"^(\s*)([A-Z]\w*(?:\([^()]*\))?)\s*:\s*$", r"\1class \2:"),
    (0.5, rf"^(\s*)(?:\w+)\s+({_NAME}\s*\([^()]*\))\s*:\s*$", r"\1def \2:"),
    (0.5, rf"^(\s*def)\s+\w+\s+({_NAME}\s*\()", r"\1 \2"),
    (0.4, rf"^(\s*class\s+{_NAME})\s*\(\s*:", r"\1:"),
    (0.5, r"(\bdef\s+\w+\(.*)\bself\.", r"\1"),
    (0.5, r"(?<=[(,]) *(\w+)\s*:\s*(?=[^,()]*[,)])", r" \1="),
    (0.4, r"([(,]\s*)(\w+)\s*:\s*([^,()]+)(?=[,)])", r"\1\2=\3"),
    # lambdas and comprehensions
    (0.35, r"(\blambda\b[^:]*:)\s*return\b\s*", r"\1 "),
    (0.4, r"\blambda\s*\(([\w, ]*)\)\s*:", r"lambda \1:"),
    (0.4, r"\blambda\s+(\w+(?:\s*,\s*\w+)*)\s+(?=\S)", r"lambda \1: "),
    (0.4, r"([\[({])\s*if\s+(.+?)\s+(for\s+.+?)([\])}])", r"\1\3 if \2\4"),
    (0.38, r"([\[({])((?:(?!\bfor\b)[^\[\]{}])+?)\s+if\s+(.+?)\s+(for\s+.+)([\])}])",
     r"\1\2 \4 if \3\5"),
    (0.4, r"([\[({])([^\[\]{}]+?)\s+(for\s+.+?)\s+if\s+(.+?)\s+else\s+(.+?)([\])}])",
     r"\1\2 if \4 else \5 \3\6"),
    (0.45, r"(\bif\b(?:(?!\belse\b).)+?)\s*(\)|\]|\}|,|$)", r"\1 else None\2"),
    # imports, `with` and `except`
    (0.35, rf"^(\s*)import\s+({_NAME}(?:\s*,\s*{_NAME})*)\s+from\s+([\w.]+)\s*$",
     r"\1from \3 import \2"),
    (0.4, r"^(\s*import\s+[\w.]+)\s+(\w+)\s*$", r"\1 as \2"),
    (0.4, r"^(\s*from\s+[\w.]+)\s+(?!import)(\w+)\s*$", r"\1 import \2"),
    (0.4, r"^(\s*)from\s+([\w.]+)\s*$", r"\1import \2"),
    (0.4, r"^(\s*import\s+)['\"]([\w.]+)['\"]", r"\1\2"),
    (0.35, r"^(\s*with\s+.+?\))\s+(\w+)\s*:", r"\1 as \2:"),
    (0.35, r"^(\s*except\s+[\w.]+|\s*except\s*\([^()]*\))\s+(\w+)\s*:", r"\1 as \2:"),
    # collections and operators
    (0.4, r"(['\"\w])\s*=>\s*", r"\1: "),
    (0.4, r"([{,]\s*(?:'[^']*'|\"[^\"]*\"|\w+))\s*=\s*(?!=)", r"\1: "),
    (0.4, r"((?:'[^']*'|\"[^\"]*\"))\s+(?=[\w'\"\[({-])", r"\1: "),
    (0.35, r"=([<>!])(?!=)", r"\1="),
    (0.35, r"([<>!=+*/-])\s+=(?!=)", r"\1="),
    (0.6, r"(\d)\s*(?=[A-Za-z_(])(?![eEjJxXoObB]\d|[jJ]\b)", r"\1 * "),
    (0.4, r"'\\'", r"'\\\\'"),
    (0.4, r'"\\"', r'"\\\\"'),
    (0.5, r"\s*;\s*$", ""),
)
"""What a line becomes where it looks like this, at a cost."""


def shapes(broken: Broken) -> list[Proposal]:
    """The table's rewritings, each at every place it fits, and those that need the brackets."""
    found: list[Proposal] = []
    for line in broken.suspects:
        if line.is_long:
            continue
        code = line.text.rstrip()
        indent = " " * line.width
        for cost, pattern, new in _SHAPES:
            template = new.replace("{indent}", indent)
            matches = list(re.finditer(pattern, code))
            for match in matches[:6]:
                text = code[: match.start()] + match.expand(template) + code[match.end() :]
                if text != code:
                    away = 0.15 * broken.away(line.start + match.start(), line)
                    found.append(line.becomes(cost + away, text + line.text[len(code) :]))
            if len(matches) > 1:
                every = re.sub(pattern, template, code)
                found.append(line.becomes(cost + 0.01, every))
        found += _arguments(broken, line)
    found += _awaited(broken)
    found += _handled(broken)
    return found


def _arguments(broken: Broken, line: Line) -> list[Proposal]:
    """Parameters and arguments in an order that Python refuses; a bare generator among others."""
    found: list[Proposal] = []
    some = broken.within(line)
    for place, token in enumerate(some):
        if token.text != "(" or token.kind != "sign":
            continue
        parts = _parts(broken, some, place)
        if parts is None or not parts[0]:
            continue
        pieces, end = parts
        defines = place >= 2 and some[place - 2].text == "def"

        def joined(cost: float, new: list[str], start: int = token.end, end: int = end) -> Proposal:
            return Proposal(cost + line.distance, start, end, ", ".join(new))

        named = [piece for piece in pieces if _is_named(piece)]
        if named and len(named) < len(pieces):
            starred = [piece for piece in pieces if piece.startswith("*")]
            plain = [piece for piece in pieces if piece not in named and piece not in starred]
            found.append(joined(0.4, [*plain, *named, *starred]))
            if defines:
                first = pieces.index(named[0])
                later = [
                    piece if row < first or piece in named or piece in starred else f"{piece}=None"
                    for row, piece in enumerate(pieces)
                ]
                found.append(joined(0.45, later))
                bare = [piece.partition("=")[0] if piece in named else piece for piece in pieces]
                found.append(joined(0.8, bare))
        if not defines and len(pieces) > 1:
            for row, piece in enumerate(pieces):
                if re.search(r"\bfor\b.+\bin\b", piece) and piece[0] not in "([{":
                    new = [*pieces[:row], f"({piece})", *pieces[row + 1 :]]
                    found.append(joined(0.35, new))
                    rest = ", ".join(pieces[: row + 1])
                    found.append(joined(0.6, [f"({rest})", *pieces[row + 1 :]]))
                    found.append(joined(0.65, [f"[{rest}]", *pieces[row + 1 :]]))
        if defines:
            found += _duplicates(broken, pieces, joined)
    return found


def _is_named(piece: str) -> bool:
    return re.match(r"\w+\s*(?::[^=]*)?=(?!=)", piece) is not None


def _duplicates(
    broken: Broken, pieces: list[str], joined: Callable[[float, list[str]], Proposal]
) -> list[Proposal]:
    """A parameter named twice: the second one dropped, or a name that the body lacks."""
    found = []
    for row, piece in enumerate(pieces):
        if piece in pieces[:row]:
            found.append(joined(0.8, [*pieces[:row], *pieces[row + 1 :]]))
            first = pieces.index(piece)
            for name in _unbound(broken):
                new = list(pieces)
                new[row] = name
                found.append(joined(0.5, new))
                new = list(pieces)
                new[first] = name
                found.append(joined(0.52, new))
    return found


def _unbound(broken: Broken) -> list[str]:
    """Names that are used and, as far as tokens tell, never given a value."""
    used: dict[str, bool] = {}
    some = [token for token in broken.tokens if token.kind not in ("newline", "comment")]
    for place, token in enumerate(some):
        if token.kind != "name" or token.is_keyword:
            continue
        before = some[place - 1].text if place else ""
        following = some[place + 1].text if place + 1 < len(some) else ""
        bound = before in ("def", "class", "for", "as", "import", "global", "lambda") or (
            following in ("=", ":=", "+=") and before not in ("(", ","))
        if before != "." and following != "(":
            used[token.text] = used.get(token.text, False) or bound
    return [name for name, bound in used.items() if not bound][:8]


def _parts(broken: Broken, some: list[Token], place: int) -> tuple[list[str], int] | None:
    """What stands between a bracket's commas, and where the bracket closes."""
    depth, start, pieces = 0, some[place].end, list[str]()
    for token in some[place + 1 :]:
        sign = token.kind == "sign"
        if sign and token.text in OPENERS:
            depth += 1
        elif sign and token.text in CLOSERS:
            if depth == 0:
                last = broken.text[start : token.start].strip()
                return ([*pieces, last] if last else pieces), token.start
            depth -= 1
        elif sign and token.text == "," and depth == 0:
            pieces.append(broken.text[start : token.start].strip())
            start = token.end
    return None


def _awaited(broken: Broken) -> list[Proposal]:
    """The function around an `await` made asynchronous, or the `await` taken away."""
    if not broken.fault.says("async", "await"):
        return []
    row = broken.index
    level = len(broken.lines[row]) - len(broken.lines[row].lstrip())
    found = []
    for above in range(row, -1, -1):
        line = broken.lines[above]
        own = len(line) - len(line.lstrip())
        if line.strip() and own < level and line.lstrip().startswith("def "):
            at = broken.starts[above] + own
            found.append(Proposal(0.3, at, at, "async "))
            break
        if line.strip():
            level = min(level, own + 1)
    start = broken.starts[row]
    found += [
        Proposal(0.8, start + match.start(), start + match.end(), "")
        for match in re.finditer(r"\b(?:async|await)\s+", broken.lines[row])
    ]
    return found


def _handled(broken: Broken) -> list[Proposal]:
    """A handler for a `try` that has none."""
    if not broken.fault.says("except"):
        return []
    found = []
    at = broken.index
    for row in range(min(at, len(broken.lines) - 1), -1, -1):
        if re.match(r"\s*try\s*:", broken.lines[row]):
            level = " " * (len(broken.lines[row]) - len(broken.lines[row].lstrip()))
            last = broken.above(at) if at > row else None
            where = (last if last is not None and last > row else row) + 1
            step = level + "    "
            found.append(broken.replaced(
                0.9, where, where, (f"{level}except Exception:", f"{step}pass")))
            found.append(broken.replaced(0.95, where, where, (f"{level}finally:", f"{step}pass")))
            break
    return found
