"""Report files of a run: a Markdown report, and the test results as JUnit XML."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from agent.core.domain import Report, Verdict, counted
from agent.core.settings import GENERATOR
from agent.interfaces.next_step import UNHEALED, next_steps
from agent.interfaces.project.discovery import Inspection, task_to_heal, untested_count
from agent.interfaces.project.display import judged_words
from agent.interfaces.terminal.display import competing_words, edits, evidence_words, suspect_words
from agent.iteration.context import PROMPTS
from agent.propose.wording import diagnosis, repair_question, suspects_of
from agent.report.result import ACCEPTED, Result, document
from agent.report.words import claim_lines, cost_words, headline, partial_words, passing_words
from agent.verify.project.suite_run import SuiteRun
from llm.asking.prompts import load

if TYPE_CHECKING:
    from agent.interfaces.project.branch import Committed

MAX_LISTED = 20
MESSAGE = 300
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def markdown(result: Result, name: str, inspected: Inspection | None = None) -> str:
    """Returns a Markdown report for a pull request. For a project it includes the failures, next
    steps, and commands to reproduce the result."""
    before = inspected.tree.files if inspected is not None else {}
    judged = "tests run in the jail"
    parts = [f"# {name}: {headline(result)[0]}"]
    if inspected is not None:
        judged = judged_words(inspected.project)
        parts += _failures_section(inspected.run, inspected.to_heal)
    parts += _reason_section(result)
    if result.diff:
        lines = ", ".join(f"{path}, line {line}" for path, line in edits(before, result))
        parts += ["## Patch", *([_code(lines)] if lines else []), _fenced(result.diff, "diff")]
        others = [*competing_words(result)]
        parts += [_fenced("\n".join(others) + "\n", "")] if others else []
    parts += ["## Search", *_search_section(result)]
    if result.proof is not None:
        parts += ["## Proof", *_proof_section(result, judged)]
    if inspected is not None:
        steps, prompt = next_steps(result, inspected), question(result, inspected)
        command = inspected.project.command_words
        parts += ["## Next steps", "\n".join(steps)] if steps else []
        parts += ["## How to reproduce"]
        parts += _reproduce_section(result, inspected.to_heal, command, inspected.request.out)
        parts += ["## Prompt for a model", _fenced(prompt, "")] if prompt else []
    return "\n\n".join(parts) + "\n"


def project_document(
    result: Result, inspected: Inspection, commits: Sequence[Committed] = ()
) -> dict[str, object]:
    """Returns the result's document, with the keys of a project."""
    return document(result) | {"project": {
        "root": inspected.project.root, "name": inspected.project.name,
        "python": str(inspected.interpreter.executable),
        "settings": inspected.tree.layout.configuration or None,
        "test_command": inspected.project.command_words or None,
        "failed_before": [*inspected.run.failing], "uncollected": [*inspected.uncollected],
        "untried": untested_count(result, inspected),
        "changed": [
            {"file": path, "line": line} for path, line in edits(inspected.tree.files, result)
        ],
        "next": next_steps(result, inspected),
        "model_question": question(result, inspected) or None,
        "commit": vars(commits[0]) if commits else None,
    }}


def _failures_section(run: SuiteRun, to_heal: Sequence[str]) -> Iterator[str]:
    yield "## What failed"
    if not to_heal:
        yield "\n".join([f"- {_code(one)}" for one in run.problems]) or "Nothing."
        return
    lines = []
    for node in to_heal[:MAX_LISTED]:
        row = run.outcomes[node]
        message = str(row.get("message", ""))[:MESSAGE]
        location = f"{row['file']}:{row['line']}" if row.get("file") and row.get("line") else ""
        lines.append(f"- {_code(node)}{f' at {_code(location)}' if location else ''}")
        if message:
            lines.append(f"  {_code(message)}")
    if len(to_heal) > MAX_LISTED:
        lines.append(f"- and {len(to_heal) - MAX_LISTED} more")
    yield "\n".join(lines)


def _reason_section(result: Result) -> Iterator[str]:
    yield "## What the patch does" if result.diff else "## Why"
    if result.reason:
        yield result.reason
    if result.outcome not in ACCEPTED:
        words = [*evidence_words(result)]
        if words:
            yield _fenced("\n".join(words) + "\n", "")


def _search_section(result: Result) -> Iterator[str]:
    by = {None: "", "memory": "from memory", "search": "by search", "model": "by a model"}
    facts = filter(None, [
        by[result.strategy], counted(result.candidates, "candidate"), cost_words(result),
        f"{result.seconds:.1f} s",
    ])
    lines = [f"- {', '.join(facts)}"]
    lines += [f"- suspicious: {_code(suspect_words(one))}" for one in result.suspects]
    lines += [f"- {notice.text}" for notice in result.notices]
    yield "\n".join(lines)
    if result.partial is not None:
        yield f"{partial_words(result.partial)}:"
        yield _fenced(result.partial.diff, "diff")


def _proof_section(result: Result, judged: str) -> Iterator[str]:
    lines = [f"- {line}" for line in claim_lines(result)]
    if result.report is not None:
        lines.append(f"- {judged}: {passing_words(result.report)}")
        excluded = [one.name for one in result.report.verdicts if one.excluded]
        lines += [f"- failed before, not part of this repair: {_code(one)}" for one in excluded]
    yield "\n".join(lines)


def _reproduce_section(
    result: Result, to_heal: Sequence[str], command: str, written: Path | None
) -> Iterator[str]:
    named = " ".join(f"'{one}'" if re.search(r"[^\w./:-]", one) else one for one in to_heal[:5])
    lines = [command or f"python -m pytest {named}".rstrip()]
    if result.outcome in ("healed", "proposed"):
        save = "" if written else "    # save the patch above in this file first"
        lines += [f"git apply {written or 'heal.patch'}{save}", command or "python -m pytest"]
    yield _fenced("\n".join(lines) + "\n", "bash")


def _code(text: str) -> str:
    line = " ".join(text.split())
    ticks = "`" * (1 + max((len(one) for one in re.findall("`+", line)), default=0))
    space = " " if len(ticks) > 1 else ""
    return f"{ticks}{space}{line}{space}{ticks}"


def _fenced(text: str, kind: str) -> str:
    ticks = "`" * max(3, 1 + max((len(one) for one in re.findall("`+", text)), default=0))
    return f"{ticks}{kind}\n{text}{ticks}"


def question(result: Result, inspected: Inspection) -> str:
    """Returns the prompt for a model about a project that was not healed; else empty."""
    if result.outcome not in UNHEALED or result.report is None or not inspected.needs_healing:
        return ""
    task = task_to_heal(inspected)
    assert task.solution is not None
    diagnosed = result.explained_result.diagnosis
    found = diagnosis(diagnosed) if diagnosed is not None else ""
    prompt = load(PROMPTS, GENERATOR)
    suspected = result.suspects or suspects_of((), task.solution)
    known = result.recalled.lessons if result.recalled is not None else ()
    return f"{prompt.instructions()}\n\n" + prompt.render("edit_files", repair_question(
        task, task.solution, result.report, task.tests, found=found, suspected=suspected,
        known=known,
    ))


# JUnit.

FAILED_BEFORE = "added during the run, and failed before the repair too"


def junit(result: Result, before: Report | None = None) -> bytes:
    """Returns the test results as JUnit XML, with outcome, proof and confidence. Adversarial tests
    that already failed `before` the repair are marked as skipped."""
    report = result.report
    verdicts = report.verdicts if report is not None else ()
    failed = {one.name for one in before.verdicts if one.fails} if before is not None else set()
    verdicts = tuple(
        one.model_copy(update={"status": "skipped", "message": f"{FAILED_BEFORE}: {one.message}"})
        if one.origin == "adversarial" and one.fails and one.name in failed else one
        for one in verdicts
    )
    suite = ElementTree.Element("testsuite", {
        "name": "pytest", "errors": _count(verdicts, "error", "timeout"),
        "failures": _count(verdicts, "failed"),
        "skipped": _count(verdicts, "skipped", "xfailed"), "tests": str(len(verdicts)),
        "time": f"{sum(one.wall_s for one in verdicts):.3f}",
    })
    properties = ElementTree.SubElement(suite, "properties")
    for name in ("outcome", "proof", "confidence"):
        if (value := getattr(result, name)) is not None:
            ElementTree.SubElement(properties, "property", {"name": name, "value": str(value)})
    for one in verdicts:
        suite.append(_testcase(one))
    root = ElementTree.Element("testsuites")
    root.append(suite)
    ElementTree.indent(root)
    return bytes(ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)) + b"\n"


def _count(verdicts: Sequence[Verdict], *statuses: str) -> str:
    return str(sum(one.status in statuses for one in verdicts))


def _testcase(one: Verdict) -> ElementTree.Element:
    path, found_in, name = one.name.partition("::")
    path, name = (path, name) if found_in else ("tests", path)  # it is in no file
    head, bracket, values = name.partition("[")
    *classes, last = head.split("::")
    classname = ".".join([path.removesuffix(".py").replace("/", "."), *classes])
    found = ElementTree.Element("testcase", {
        "classname": _legal(classname), "name": _legal(f"{last}{bracket}{values}"),
        "time": f"{one.wall_s:.3f}",
    })
    message = _legal(one.message)
    first = message.partition("\n")[0]
    match one.status:
        case "failed":
            ElementTree.SubElement(found, "failure", {"message": first}).text = message
        case "error" | "timeout":
            ElementTree.SubElement(found, "error", {"message": first}).text = message
        case "skipped" | "xfailed":
            kind = "pytest.skip" if one.status == "skipped" else "pytest.xfail"
            ElementTree.SubElement(found, "skipped", {"type": kind, "message": first})
        case _:
            pass
    return found


def _legal(text: str) -> str:
    return _NO_XML.sub(lambda at: f"#x{ord(at[0]):02X}", text)
