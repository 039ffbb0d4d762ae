"""What other languages write where Python has its own sign or word."""

from __future__ import annotations

import re
from collections.abc import Callable

from agent.repair.syntax.broken import Broken, Proposal
from agent.repair.syntax.tokens import tokens

_SIGNS: dict[str, str] = {
    "&&": "and", "||": "or", "===": "==", "!==": "!=", "=<": "<=", "=>": ">=", "=!": "!=",
}
_HEADS = r"if|elif|else|for|while|def|class|try|except|finally|with|async|match|case"
_Rewrite = tuple[str, str]
_DECLARED = r"(?:var|let|const|final|auto|int|float|double|string|String|bool|boolean|char|my|dim)"
_LINES: tuple[tuple[str, tuple[_Rewrite, ...]], ...] = (
    ("else if", ((r"^(\s*)(?:\}\s*)?(?:else\s+if|elseif|elsif|elif\s+if|elseIf)\b", r"\1elif"),)),
    ("function", (
        (r"^(\s*)(?:(?:public|private|protected|static|export|default)\s+)*"
         r"(?:function|func|fn|fun|sub|define)\s+(?=\w)", r"\1def "),)),
    ("declaration", ((rf"^(\s*){_DECLARED}\s+(?=\w+\s*(?:=(?!=)|;))", r"\1"),)),
    ("new", ((r"(?<=[=(,\s])new\s+(?=[A-Z_a-z]\w*\()", ""),)),
    ("throw", ((r"^(\s*)throw(?:\s+new)?\s+", r"\1raise "),)),
    ("catch", (
        (r"^(\s*)(?:\}\s*)?catch\s*\(\s*([\w.]+)\s+(\w+)\s*\)", r"\1except \2 as \3"),
        (r"^(\s*)(?:\}\s*)?(?:catch|rescue)\s*\(\s*([\w.]+)\s*\)", r"\1except \2"),
        (r"^(\s*)(?:\}\s*)?(?:catch|rescue)\b", r"\1except"),
        (r"^(\s*)except\s*\(\s*([\w.]+)\s+(\w+)\s*\)", r"\1except \2 as \3"),
        (r"^(\s*)except\s+([\w.]+)\s+(\w+)\s*:", r"\1except \2 as \3:"),)),
    ("counting loop", (
        (r"^(\s*)for\s*\(\s*(?:\w+\s+)?(\w+)\s*=\s*0\s*;\s*\2\s*<\s*(.+?)\s*;\s*(?:\2\s*\+\+|\+\+\2"
         r"|\2\s*\+=\s*1)\s*\)", r"\1for \2 in range(\3)"),
        (r"^(\s*)for\s*\(\s*(?:\w+\s+)?(\w+)\s*=\s*(.+?)\s*;\s*\2\s*<\s*(.+?)\s*;\s*(?:\2\s*\+\+"
         r"|\+\+\2|\2\s*\+=\s*1)\s*\)", r"\1for \2 in range(\3, \4)"),
        (r"^(\s*)for\s*\(\s*(?:\w+\s+)?(\w+)\s*=\s*(.+?)\s*;\s*\2\s*<=\s*(.+?)\s*;\s*(?:\2\s*\+\+"
         r"|\+\+\2|\2\s*\+=\s*1)\s*\)", r"\1for \2 in range(\3, \4 + 1)"),
        (r"^(\s*)for\s*\(\s*(?:\w+\s+)?(\w+)\s*=\s*(.+?)\s*;\s*\2\s*>=\s*(.+?)\s*;\s*(?:\2\s*--"
         r"|--\2|\2\s*-=\s*1)\s*\)", r"\1for \2 in range(\3, \4 - 1, -1)"),
        (r"^(\s*)for\s*\(\s*(?:\w+\s+)?(\w+)\s*=\s*(.+?)\s*;\s*\2\s*>\s*(.+?)\s*;\s*(?:\2\s*--"
         r"|--\2|\2\s*-=\s*1)\s*\)", r"\1for \2 in range(\3, \4, -1)"),)),
    ("loop over values", (
        (r"^(\s*)(?:foreach|for\s+each|for)\s*\(\s*(?:var|let|const|auto|int|String)?\s*"
         r"(\w+(?:\s*,\s*\w+)*)\s+(?:in|of|:)\s+(.+)\)(\s*[:{]?\s*)$", r"\1for \2 in \3\4"),
        (r"^(\s*)(?:foreach|for\s+each)\b", r"\1for"),
        (r"^(\s*for\s+[\w, ]+?)\s+of\s+", r"\1 in "),
        (r"^(\s*for\s+[\w, ]+?)\s*:\s+(?=\S)", r"\1 in "),)),
    ("increment", (
        (r"^(\s*)([\w.\[\]]+)\s*\+\+\s*;?(\s*(?:#.*)?)$", r"\1\2 += 1\3"),
        (r"^(\s*)\+\+([\w.\[\]]+)\s*;?$", r"\1\2 += 1"),
        (r"^(\s*)([\w.\[\]]+)\s*--\s*;?(\s*(?:#.*)?)$", r"\1\2 -= 1\3"),
        (r"^(\s*)--([\w.\[\]]+)\s*;?$", r"\1\2 -= 1"),)),
    ("choice", (
        (r"^(\s*(?:return|[\w.\[\]]+\s*[-+*/]?=(?!=)))\s*(.+?)\s*\?\s*(.+?)\s+:\s+(.+?);?$",
         r"\1 \3 if \2 else \4"),
        (r"\(([^()?]+?)\s*\?\s*([^()?]+?)\s+:\s+([^()?]+?)\)", r"(\2 if \1 else \3)"),)),
    ("comment", (
        (r"^(\s*)(?://|--|;|%|<!--)\s?(.*)$", r"\1# \2"),
        (r"(\s)//(\s*[^\d\s(].*)$", r"\1#\2"),)),
    ("arrow", (
        (r"(?:\(\s*([\w, ]*)\s*\)|\b(\w+))\s*=>\s*", r"lambda \1\2: "),
        (r"\blambda\s+([\w, ]*?)\s*->\s*", r"lambda \1: "),)),
    ("member", ((r"(?<=\w)(?:->|::)(?=[A-Za-z_])", "."),)),
    ("own member", ((r"(?<![\w\n@)\]] )(?<=[\s(\[,=+-])@(?=[a-z_])", "self."),)),
    ("this", ((r"\bthis\.", "self."),)),
    ("then", (
        (rf"^(\s*(?:{_HEADS})\b.*?)\s+(?:then|do)\s*:?\s*$", r"\1:"),
        (rf"^(\s*(?:{_HEADS})\b.*?)\s*;\s*$", r"\1:"),)),
    ("semicolon", ((r"\s*;+\s*$", ""),)),
    ("extends", (
        (r"^(\s*class\s+\w+)\s+(?:extends|inherits|<|:)\s+([\w.]+)\s*:?\s*$", r"\1(\2):"),)),
    ("typed parameters", (
        (r"(?<=[(,])(\s*)(int|str|float|bool|list|dict|tuple|set|object)\s+(?=\w)(\w+)",
         r"\1\3: \2"),)),
    ("import", (
        (r"^(\s*)import\s+([\w., ]+?)\s+from\s+['\"]?([\w.]+)['\"]?\s*;?$", r"\1from \3 import \2"),
        (r"^(\s*)(?:import|using|require|include|#include|use)\s*[<\"'(]+([\w.]+)[>\"')]+;?$",
         r"\1import \2"),)),
)
"""A word or sign of another language, and what its lines become."""


def foreign(broken: Broken) -> list[Proposal]:
    """Every family alone, on the suspicious lines and everywhere, and all of them together."""
    text = broken.text
    found: list[Proposal] = []
    families = [*_line_families(), _negated, _worded, _unbraced, _unended, _uncommented,
                _lower_heads]
    together = text
    fitting = []
    for place, family in enumerate(families):
        new = family(text)
        if new != text:
            fitting.append(family)
            found.append(Proposal(0.32 + 0.002 * place, 0, len(text), new))
        if family in families[-6:-1] or place < len(_LINES) - 3:
            together = family(together)
    if together != text:
        found.append(Proposal(0.4, 0, len(text), together))
    for line in (line for line in broken.suspects if not line.is_long):
        for family in fitting:
            new = family(line.text)
            if new != line.text and "\n" not in new:
                found.append(line.becomes(0.36, new))
    return found


def _line_families() -> list[Callable[[str], str]]:
    def family(rewrites: tuple[_Rewrite, ...]) -> Callable[[str], str]:
        def rewritten(text: str) -> str:
            for pattern, new in rewrites:
                text = re.sub(pattern, new, text, flags=re.MULTILINE)
            return text

        return rewritten

    return [family(rewrites) for _, rewrites in _LINES]


def _negated(text: str) -> str:
    return _outside_strings(text, lambda code: re.sub(r"!\s*(?=[\w(\[])", "not ", code))


def _worded(text: str) -> str:
    def signs(code: str) -> str:
        for sign, word in _SIGNS.items():
            code = code.replace(f" {sign} ", f" {word} ")
        code = re.sub(r"\s*&&\s*", " and ", code)
        code = re.sub(r"\s*\|\|\s*", " or ", code)
        code = code.replace("!==", "!=").replace("===", "==")
        return re.sub(r"(?<=\S) ([<>!=+*/%-]) = ", r" \1= ", code)

    return _outside_strings(text, signs)


def _unbraced(text: str) -> str:
    """Blocks in braces as indented blocks; the indentation that is there is kept."""
    lines = []
    for line in text.split("\n"):
        bare = re.sub(r"^(\s*)\}\s*(?=(?:else|elif|except|finally|catch)\b)", r"\1", line)
        opened = re.sub(r"\s*:?\s*\{\s*$", ":", bare)
        if opened != bare and re.match(rf"\s*(?:{_HEADS}|function|func|fn|switch|catch)\b", bare):
            bare = opened
        if re.fullmatch(r"\s*[{}]+;?\s*", bare):
            continue
        lines.append(bare)
    return "\n".join(lines)


def _unended(text: str) -> str:
    """The text without the lines that only say that a block ends."""
    ends = r"\s*(?:end|endif|endfor|endwhile|end if|fi|done|end;)\s*"
    lines = [line for line in text.split("\n") if not re.fullmatch(ends, line)]
    return "\n".join(lines)


def _uncommented(text: str) -> str:
    """Comments between `/*` and `*/` as comments of Python."""
    def hashed(match: re.Match[str]) -> str:
        if "\n" not in match.group():
            return ""
        inside = match.group()[2:-2].strip("* \n")
        return "\n".join(f"# {line.strip().lstrip('* ')}" for line in inside.split("\n"))

    return re.sub(r"/\*.*?\*/", hashed, text, flags=re.DOTALL)


def _lower_heads(text: str) -> str:
    """Words of Python that were given a capital letter."""
    words = (f"{_HEADS}|return|import|from|not|and|or|in|is|pass|break|continue|raise|yield|print"
             "|lambda|del|global")

    def lowered(code: str) -> str:
        pattern = rf"(?<![\w.])(?:{words})(?=[\s:(]|$)"
        return re.sub(
            pattern, lambda match: match.group().lower(), code, flags=re.IGNORECASE)

    return _outside_strings(text, lowered)


def _outside_strings(text: str, change: Callable[[str], str]) -> str:
    parts, last = [], 0
    for token in tokens(text):
        if token.kind in ("string", "open string", "comment"):
            parts += [change(text[last : token.start]), token.text]
            last = token.end
    return "".join([*parts, change(text[last:])])
