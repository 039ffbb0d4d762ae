"""Removes what surrounds a program that was copied: Markdown fences, prompts, line numbers."""

from __future__ import annotations

import html
import itertools
import keyword
import re
import textwrap
import unicodedata

from agent.search.syntax.broken import Broken, SyntaxEdit
from agent.search.syntax.tokens import tokens

_CHARACTERS = {
    "\u2018": "'", "\u2019": "'", "\u201a": "'", "\u201c": '"', "\u201d": '"', "\u201e": '"',
    "\u2010": "-", "\u2011": "-", "\u2012": "-", "\u2013": "-", "\u2014": "-", "\u2212": "-",
    "\u00d7": "*", "\u00f7": "/", "\u2264": "<=", "\u2265": ">=", "\u2260": "!=", "\ufeff": "",
    "\u200b": "", "\u200c": "", "\u200d": "", "\u2060": "", "\u00ad": "", "\u2026": "...",
    "\u2032": "'", "\u2033": '"', "\u2192": "->", "\u00b7": "*", "\u3001": ",", "\u3002": ".",
    "\x00": "",
}
_WORDS = frozenset(keyword.kwlist)
_START = re.compile(r"(?:async\s+def|def|class|import|from|@|if|for|while|try|with|print)\b|@")


def wrapping(broken: Broken) -> list[SyntaxEdit]:
    """Whole texts, each without one kind of wrapping."""
    text = broken.text
    options = [
        (0.3, _plain_characters(text, inside=False)),
        (0.34, _plain_characters(text, inside=True)),
        (0.1, _without_fences(text)),
        (0.1, _without_prompts(text)),
        (0.1, _without_line_numbers(text)),
        (0.15, _without_diff_marks(text)),
        (0.2, _one_side(text, ours=True)),
        (0.25, _one_side(text, ours=False)),
        (0.2, html.unescape(text) if re.search(r"&(?:lt|gt|amp|quot|#\d+);", text) else None),
        (0.1, _unescaped(text)),
        (0.25, text.replace('\\"', '"').replace("\\'", "'") if "\\" in text else None),
        (0.2, textwrap.dedent(text)),
        (0.3, _with_dedented_rest(text)),
        (0.3, text.expandtabs(4) if "\t" in text else None),
        (0.4, text.expandtabs(8) if "\t" in text else None),
        *((0.45 + 0.02 * place, new) for place, new in enumerate(_without_prose(broken))),
    ]
    return [
        SyntaxEdit(cost, 0, len(text), new)
        for cost, new in options
        if new is not None and new != text and new.strip()
    ]


def _plain_characters(text: str, *, inside: bool) -> str | None:
    """Replaces typographic characters by ASCII, optionally also inside strings."""
    if text.isascii() and "\x00" not in text:
        return None

    def plain(part: str) -> str:
        return "".join(_plain(letter) for letter in part)

    if inside:
        return plain(text)
    parts, last = [], 0
    for token in tokens(text):
        if token.kind in ("string", "comment"):
            parts += [plain(text[last : token.start]), token.text]
            last = token.end
    return "".join([*parts, plain(text[last:])])


def _plain(letter: str) -> str:
    if letter in _CHARACTERS:
        return _CHARACTERS[letter]
    if letter.isascii() or letter.isidentifier() or letter.isalnum():
        return letter
    return unicodedata.normalize("NFKC", letter)


def _without_fences(text: str) -> str | None:
    """The text between fences, or after the only fence."""
    lines = text.split("\n")
    fences = [row for row, line in enumerate(lines) if line.strip().startswith(("```", "~~~"))]
    if not fences:
        return None
    if len(fences) == 1:
        inside = lines[fences[0] + 1 :]
        if not any(line.strip() for line in inside):
            inside = lines[: fences[0]]
        return "\n".join(inside)
    parts = [
        line
        for first, last in zip(fences[::2], fences[1::2], strict=False)
        for line in lines[first + 1 : last]
    ]
    return textwrap.dedent("\n".join(parts)) + "\n"


def _without_prompts(text: str) -> str | None:
    """The input at an interactive prompt, without the output."""
    prompt = re.compile(r"^\s*(?:>>>|\.\.\.:|\.\.\.|In \[\d+\]:) ?(.*)$")
    lines = text.split("\n")
    typed = re.compile(r"\s*(?:>>>|\.\.\.|In \[\d+\]:)")
    first = next((line for line in lines if line.strip()), "")
    if not typed.match(first):
        return None
    matches = [prompt.match(line) for line in lines]
    return "\n".join(match.group(1) for match in matches if match is not None) + "\n"


def _without_line_numbers(text: str) -> str | None:
    """The text without line numbers."""
    lines = text.rstrip("\n").split("\n")
    matches = [re.match(r"\s*(\d+)(\s*[:.|)\]])?", line) for line in lines]
    found = [match for match in matches if match is not None]
    if len(found) < 2 or len(found) < len([line for line in lines if line.strip()]):
        return None
    numbers = [int(match.group(1)) for match in found]
    if any(after != before + 1 for before, after in itertools.pairwise(numbers)):
        return None
    rests = [line[match.end() :] for line, match in zip(lines, matches, strict=True) if match]
    return textwrap.dedent("\n".join(rests)) + "\n"


def _without_diff_marks(text: str) -> str | None:
    """The new side of a diff, or the quoted text of an e-mail."""
    lines = text.rstrip("\n").split("\n")
    filled = [line for line in lines if line.strip()]
    for mark, removed in (("+", "-"), (">", "\0")):
        marked = [line for line in filled if line.startswith(mark)]
        if len(marked) > 1 and 2 * len(marked) > len(filled):
            heads = ("+++", "---", "@@", "diff ", "index ", removed)
            kept = [line for line in lines if not line.startswith(heads)]
            spaced = all(len(line) < 2 or line[1] == " " for line in marked)
            cut = 2 if mark == ">" and spaced else 1
            return "\n".join(
                line[cut:] if line.startswith((mark, " ")) else line for line in kept) + "\n"
    return None


def _one_side(text: str, *, ours: bool) -> str | None:
    """The text with our or their side of each merge conflict."""
    if not re.search(r"^(?:<{7}|={7}$|>{7})", text, re.MULTILINE):
        return None
    kept, side = [], "both"
    for line in text.split("\n"):
        if line.startswith("<<<<<<<"):
            side = "ours"
        elif line.startswith("|||||||"):
            side = "base"
        elif line.startswith("=======") and side != "both":
            side = "theirs"
        elif line.startswith(">>>>>>>"):
            side = "both"
        elif side in ("both", "ours" if ours else "theirs"):
            kept.append(line)
    return "\n".join(kept)


def _unescaped(text: str) -> str | None:
    """The content of a program that was printed as a string literal."""
    if text.count("\\n") < 2 or text.count("\\n") < text.rstrip().count("\n"):
        return None
    plain = {"n": "\n", "t": "\t", '"': '"', "'": "'", "\\": "\\", "r": ""}
    bare = text.strip()
    if len(bare) > 1 and bare[0] == bare[-1] and bare[0] in "\"'":
        bare = bare[1:-1]
    return re.sub(r"\\([ntr\"'\\])", lambda match: plain[match.group(1)], bare)


def _with_dedented_rest(text: str) -> str | None:
    """Dedents all lines but the first by their common indentation."""
    first, _, rest = text.partition("\n")
    return f"{first}\n{textwrap.dedent(rest)}" if rest[:1].isspace() else None


def _without_prose(broken: Broken) -> list[str]:
    """The text without sentences before or after the program."""
    lines, found = broken.lines, []
    if broken.index + 1 < len(lines):
        starts = [row for row, line in enumerate(lines) if _START.match(line)]
        ahead = [row for row in starts if row > broken.index][:2]
        found += ["\n".join(lines[row:]) for row in ahead if _is_prose(lines[:row])]
    for row in range(broken.index, max(-1, broken.index - 6), -1):
        if row > 0 and _is_prose(lines[row:]):
            found.append("\n".join(lines[:row]).rstrip("\n") + "\n")
    return found


def _is_prose(lines: tuple[str, ...]) -> bool:
    """Whether lines look like sentences: unindented words with hardly any punctuation of code."""
    filled = [line for line in lines if line.strip()]
    return bool(filled) and re.search(r"[A-Za-z]+[,:]? [A-Za-z']+", filled[0]) is not None and all(
        not line[0].isspace() and not _START.match(line) and line.split()[0] not in _WORDS
        and not re.search(r"[=\[\]{}_]", line)
        for line in filled
    )
