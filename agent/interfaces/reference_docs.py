"""Writes the generated documents: `python -m agent.interfaces.reference_docs`."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from agent.core.settings import provider_settings, table
from agent.interfaces.terminal.cli import app
from agent.iteration.models import key_names
from agent.loop.graph import diagram
from llm.provider import PROVIDERS

ROOT = Path(__file__).parents[2]
WIDTH = 97

PAGE = (
    "| `GRADIO_SERVER_NAME`, `GRADIO_SERVER_PORT` or `PORT` | | `127.0.0.1` (`0.0.0.0` on a "
    "Space), `7860` | where `app.py` serves; `0.0.0.0` lets other machines in, and makes the page "
    "public (see `SANDBOX_ALLOW_WEAK`) |"
)
"""Read by `app.py`; no setting of a session."""

HEAD = """\
# Copy to .env. It is read at start from the working directory; the real environment wins.
# Beside app.py it may set all of this. A command leaves out what a repository must not choose, and
# says so (see docs/reference/settings.md); HEAL_ENV_FILE names a file that may set anything.
# Everything is optional: with nothing set, memory and search repair without a model.
# A line that stands as a comment changes who answers by being set, or is secret.
# Written by `python -m agent.interfaces.reference_docs` from the table in agent/core/settings.py.
"""
ELSEWHERE = """
# Steps are traced to LangSmith only with both of these; see HEAL_TRACE_CONTENT.
# LANGCHAIN_TRACING_V2=true
# LANGCHAIN_API_KEY=
# LANGCHAIN_PROJECT=self-healing-agent

# Keys of the remote sandboxes; docs/backends.md names the rest of their settings.
# E2B_API_KEY=
# DAYTONA_API_KEY=
"""


COMMANDS = """\
# Commands

Written by `python -m agent.interfaces.reference_docs` from the commands' own help.
"""


def settings_table() -> str:
    """The settings as Markdown."""
    rows = ["| variable | in `AgentConfig` | default | what it does |", "|---|---|---|---|"]
    for one in table():
        if one.name == "HEAL_DATA_DIR":
            rows.append(PAGE)
        default = one.shown if " " in one.shown else one.shown and f"`{one.shown}`"
        field = f" `{one.field}`" if one.field else ""
        rows.append(f"| `{one.name}` |{field} | {default or 'none'} | {one.about} |")
    return "\n".join(rows)


def providers_table() -> str:
    """The providers as Markdown: what each needs, its key, and its model."""
    rows = ["| provider | needs | key | model unless you name one |", "|---|---|---|---|"]
    for name, row in PROVIDERS.items():
        first = row.like in ("", name)
        install = f'`pip install -e ".[{row.extra}]"`' if row.extra else ""
        needs = [install if first else "the same", row.needs]
        key = f"`{row.key}` {row.key_when}".strip() if row.key else "none"
        variable = row.settings["model"].variable if "model" in row.settings else ""
        model = str(row.default("model")) or (f"none: set `{variable}`" if variable else "none")
        if fast := row.default("fast_model"):
            model = f"{model}, for small answers {fast}"
        rows.append(f"| `{name}` | {', '.join(filter(None, needs))} | {key} | {model} |")
    return "\n".join(rows)


def example() -> str:
    """The text of `.env.example`; secrets, and what changes who answers, are comments."""
    local = {
        setting.variable for row in PROVIDERS.values() if row.small
        for option, setting in row.settings.items() if option in ("model", "base_url")
    }
    options = {one.variable for one in provider_settings()}
    first = next(one.name for one in table() if one.name in options)
    parts = [HEAD]
    for one in table():
        if one.name == first:
            parts.append(_keys())
        value = one.shown if " " not in one.shown else ""
        comment = "# " if one.name in local else ""
        parts.append(f"{_remark(one.about)}\n{comment}{one.name}={value}\n")
    return "\n".join(parts) + ELSEWHERE


def _keys() -> str:
    lines = ["# Keys of models. Each provider is sent its own and no other."]
    lines += [f"# {name}=" for name in key_names() if name != "HF_TOKEN"]
    return "\n".join(lines) + "\n"


def _remark(about: str) -> str:
    plain = re.sub(r"\[([^]]*)\]\(#[^)]*\)", r"\1 in docs/use-a-model.md", about)
    plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", plain).replace("`", "")
    first = plain[0] if about.startswith("`") else plain[0].upper()
    plain = f"{first}{plain[1:]}."
    return "\n".join(f"# {line}" for line in textwrap.wrap(plain, WIDTH))


def marked(text: str, name: str, table_text: str) -> str:
    """A document with a table between its marks."""
    pattern = rf"(<!-- {name} -->\n).*?(\n<!-- /{name} -->)"
    written, found = re.subn(
        pattern, lambda match: f"{match[1]}{table_text}{match[2]}", text, flags=re.DOTALL
    )
    if found != 1:
        raise ValueError(f"the document has no marks for {name}")
    return written


def commands() -> str:
    """The commands of the terminal as Markdown, from their own help."""
    pages = [COMMANDS]
    for name, command in sorted(_leaves(typer.main.get_command(app), "heal")):
        context = command.context_class(command)
        usage = " ".join(command.collect_usage_pieces(context))
        pages.append(f"## {name}\n\n```text\n{name} {usage}\n```\n\n{_text(command.help)}\n")
        records = [one.get_help_record(context) for one in command.params]
        rows = [f"| `{_text(one)}` | {_text(about)} |" for one, about in filter(None, records)]
        if rows:
            pages.append("\n".join(["| option | meaning |", "|---|---|", *rows]) + "\n")
    return "\n".join(pages)


def _leaves(group: Any, path: str) -> Iterator[tuple[str, Any]]:  # click's or typer's own types
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _leaves(command, f"{path} {name}")
        else:
            yield f"{path} {name}", command


def _text(about: str | None) -> str:
    return " ".join((about or "").replace("|", r"\|").replace("<", r"\<").split())


def documents() -> dict[Path, str]:
    """The generated documents and their texts."""
    models, steps = ROOT / "docs/use-a-model.md", ROOT / "docs/steps.md"
    settings = ROOT / "docs/reference/settings.md"
    return {
        models: marked(models.read_text("utf-8"), "providers", providers_table()),
        settings: marked(settings.read_text("utf-8"), "settings", settings_table()),
        steps: marked(steps.read_text("utf-8"), "graph", f"```mermaid\n{diagram()}```"),
        ROOT / "docs/reference/commands.md": commands(),
        ROOT / ".env.example": example(),
    }


def main() -> None:
    """Writes the documents."""
    if not (ROOT / "docs").is_dir():
        raise SystemExit(f"{ROOT} is not a checkout; documents are written only there.")
    for path, text in documents().items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
