"""A small markup for meeting notes, one line at a time.

    = Weekly round                   a heading; "==" is one deeper
    - buy paper @mia !2024-05-03     a task, its owner, its due date
    + buy ink                        a task that is done
    > we keep the old printer        a decision
    anything else                    a paragraph; *strong*, _soft_, `code`, [text](link)

`parse` gives entries, `html` and `plain` write them, `agenda` picks what is open.

>>> [entry.kind for entry in parse("= Round\\n- buy paper")]
['heading', 'task']
"""

import datetime
import html as escaping
import re
from collections import namedtuple

__all__ = ["Entry", "NoteError", "agenda", "anchor", "html", "parse", "plain", "summary", "table_of_contents"]
__version__ = "1.3.0"

Entry = namedtuple("Entry", "kind text level done owners due line")

HEADING = re.compile(r"(={1,6})\s+(.*?)\s*=*$")
TASK = re.compile(r"(\s*)([-+])\s+(.*)$")
DECISION = re.compile(r">\s*(.*)$")
OWNER = re.compile(r"(?<!\S)@([a-z][\w.-]*\w)", re.IGNORECASE)
DUE = re.compile(r"(?<!\S)!(\d{4}-\d{2}-\d{2}|today|tomorrow|mon|tue|wed|thu|fri|sat|sun)(?!\S)")
LINK = re.compile(r"\[([^\]]+)\]\(([^)\s]+)\)")
CODE = re.compile(r"`([^`]+)`")

#: mark -> HTML element; the longer mark stands first
MARKS = (("**", "b"), ("*", "strong"), ("_", "em"), ("~~", "del"))
WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
SAFE_SCHEMES = ("http", "https", "mailto")
TRANSLITERATION = {"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "é": "e", "è": "e", "ñ": "n"}

_INDENT = 2


class NoteError(ValueError):
    """A note cannot be read; `line` counts from one."""

    def __init__(self, message, line):
        super().__init__(f"{message} (line {line})")
        self.line = line


def due_date(word, today):
    """The date that a due mark means, seen from `today`.

    A weekday means the next one, never today itself.

    >>> due_date("mon", datetime.date(2024, 5, 1)).isoformat()
    '2024-05-06'
    """
    if word == "today":
        return today
    if word == "tomorrow":
        return today + datetime.timedelta(days=1)
    if word in WEEKDAYS:
        ahead = (WEEKDAYS.index(word) - today.weekday() - 1) % 7 + 1
        return today + datetime.timedelta(days=ahead)
    return datetime.date.fromisoformat(word)


def _task(found, number, today):
    """The entry of a task line."""
    indent, sign, text = found.groups()
    due = None
    mark = DUE.search(text)
    if mark:
        try:
            due = due_date(mark[1], today)
        except ValueError:
            raise NoteError(f"no such date: {mark[1]}", number) from None
        text = text[: mark.start()] + text[mark.end() :]
    owners = tuple(dict.fromkeys(name.lower() for name in OWNER.findall(text)))
    text = " ".join(OWNER.sub("", text).split())
    level = len(indent.expandtabs(_INDENT)) // _INDENT
    return Entry("task", text, level, sign == "+", owners, due, number)


def parse(text, today=None):
    """All entries of a note, in order.

    Lines of a paragraph are joined; an indented paragraph line after a task continues the task.

    >>> parse("> we go on")[0].text
    'we go on'
    """
    today = today or datetime.date.today()
    entries = []
    joined = False
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            joined = False
            continue
        if found := HEADING.match(line):
            entries.append(Entry("heading", found[2], len(found[1]), False, (), None, number))
        elif found := TASK.match(line):
            entries.append(_task(found, number, today))
        elif found := DECISION.match(line):
            entries.append(Entry("decision", found[1], 0, False, (), None, number))
        elif joined and _continues(entries[-1], line):
            last = entries.pop()
            entries.append(last._replace(text=f"{last.text} {line.strip()}"))
        else:
            entries.append(Entry("paragraph", line.strip(), 0, False, (), None, number))
        joined = True
    return entries


def _continues(entry, line):
    """Whether a line that starts nothing goes on with the entry before it."""
    if entry.kind == "task":
        return line[:1].isspace()
    return entry.kind in ("paragraph", "decision")


def inline(text):
    """HTML of the marks inside a line.

    >>> inline("a *b* & `c*d`")
    'a <strong>b</strong> &amp; <code>c*d</code>'
    """
    kept = []

    def keep(fragment):
        kept.append(fragment)
        return f"\0{len(kept) - 1}\0"

    text = CODE.sub(lambda found: keep(f"<code>{escaping.escape(found[1])}</code>"), text)
    text = LINK.sub(lambda found: keep(_link(found[1], found[2])), text)
    text = escaping.escape(text, quote=False)
    for mark, element in MARKS:
        sign = re.escape(mark)
        pattern = rf"(?<!\w){sign}(?=\S)(.+?)(?<=\S){sign}(?!\w)"
        text = re.sub(pattern, rf"<{element}>\1</{element}>", text)
    return re.sub("\0(\\d+)\0", lambda found: kept[int(found[1])], text)


def _link(label, target):
    """An HTML link; a target with an unsafe scheme leaves only its label."""
    scheme, colon, _ = target.partition(":")
    label = escaping.escape(label)
    if colon and scheme.lower() not in SAFE_SCHEMES:
        return label
    return f'<a href="{escaping.escape(target)}">{label}</a>'


def anchor(heading, taken=()):
    """A link target for a heading, different from those `taken`.

    >>> anchor("Große Runde!")
    'grosse-runde'
    """
    word = "".join(TRANSLITERATION.get(sign, sign) for sign in heading.lower())
    word = re.sub(r"[^a-z0-9]+", "-", word).strip("-") or "section"
    if word not in taken:
        return word
    number = 2
    while f"{word}-{number}" in taken:
        number += 1
    return f"{word}-{number}"


def html(entries):
    """HTML of entries; tasks become nested lists."""
    lines, depth, taken = [], 0, set()
    for entry in entries:
        wanted = entry.level + 1 if entry.kind == "task" else 0
        while depth < wanted:
            lines.append("<ul>")
            depth += 1
        while depth > wanted:
            lines.append("</ul>")
            depth -= 1
        if entry.kind == "task":
            lines.append(_task_item(entry))
        elif entry.kind == "heading":
            name = anchor(entry.text, taken)
            taken.add(name)
            lines.append(f'<h{entry.level} id="{name}">{inline(entry.text)}</h{entry.level}>')
        elif entry.kind == "decision":
            lines.append(f"<blockquote>{inline(entry.text)}</blockquote>")
        else:
            lines.append(f"<p>{inline(entry.text)}</p>")
    lines.extend(["</ul>"] * depth)
    return "\n".join(lines)


def _task_item(entry):
    """The list item of a task."""
    attribute = ' class="done"' if entry.done else ""
    owners = "".join(f" <i>@{name}</i>" for name in entry.owners)
    due = f' <time datetime="{entry.due}">{entry.due:%d.%m.}</time>' if entry.due else ""
    return f"<li{attribute}>{inline(entry.text)}{owners}{due}</li>"


def plain(entries, width=72):
    """Text of entries, wrapped to a width, with marks taken out."""
    lines = []
    for entry in entries:
        text = LINK.sub(r"\1 <\2>", CODE.sub(r"\1", entry.text))
        if entry.kind == "heading":
            if lines:
                lines.append("")
            lines += [text.upper() if entry.level == 1 else text, ""]
            continue
        first = {"task": "[x] " if entry.done else "[ ] ", "decision": "=> "}.get(entry.kind, "")
        indent = " " * (_INDENT * entry.level)
        lines.extend(_wrap(indent + first + text, width, indent + " " * len(first)))
    return "\n".join(lines)


def _wrap(text, width, hang):
    """Lines of at most `width`, all but the first indented by `hang`; long words stay whole."""
    line = text[: len(text) - len(text.lstrip())]
    fresh = True
    for word in text.split():
        if not fresh and len(line) + 1 + len(word) > width:
            yield line
            line, fresh = hang, True
        line += word if fresh else " " + word
        fresh = False
    yield line


def agenda(entries, today=None, owner=None):
    """Open tasks, those due first in order of date; late ones lead.

    With an owner only that person's tasks count.
    """
    open_tasks = [entry for entry in entries if entry.kind == "task" and not entry.done]
    if owner is not None:
        open_tasks = [entry for entry in open_tasks if owner.lower() in entry.owners]
    return sorted(open_tasks, key=lambda entry: (entry.due is None, entry.due or today, entry.line))


def summary(entries, today):
    """Counts of a note: open, done, late and decisions.

    >>> summary(parse("- a\\n+ b\\n> c"), None)["open"]
    1
    """
    counts = {"open": 0, "done": 0, "late": 0, "decisions": 0}
    for entry in entries:
        if entry.kind == "decision":
            counts["decisions"] += 1
        elif entry.kind == "task":
            counts["done" if entry.done else "open"] += 1
            if entry.due and not entry.done and entry.due < today:
                counts["late"] += 1
    return counts


def table_of_contents(entries, deepest=3):
    """Headings down to a level as (level, text, anchor)."""
    taken, rows = set(), []
    for entry in entries:
        if entry.kind != "heading":
            continue
        name = anchor(entry.text, taken)
        taken.add(name)
        if entry.level <= deepest:
            rows.append((entry.level, entry.text, name))
    return rows
