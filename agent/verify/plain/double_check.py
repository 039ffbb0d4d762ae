"""Whether tests pass whatever they expect: they run once more, each check asked twice.

It is evidence against a pass, never for one. Files of tests whose expectations cannot be exchanged
are left out (`texts.expectations`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from agent.core.domain import Project
from agent.verify.groups import Group
from agent.verify.project.suite_double_check import (
    Heard,
    Observations,
    Watching,
    ending,
    exchanged_files,
    heard,
)
from agent.verify.project.suite_run import run_suite
from sandbox.sandbox import Sandbox


async def double_checked(
    files: Mapping[str, str], project: Project, sites: tuple[str, ...], sandbox: Sandbox,
    seen: Watching, texts: str, seed: int, alone: Collection[str] = (),
) -> tuple[Heard, Observations]:
    """Runs tests with other expectations.

    Args:
        files: Program and tests, path to text.
        seen: Which files are the program's and the tests', and which tests run.
        texts: What the tests say.
        seed: The interpreter's hash seed.
        alone: Tests that may fail here since others ran before them.

    Returns:
        What follows of each test, and what was reported.
    """
    other = await asyncio.to_thread(exchanged_files, files, seen)
    if not other:
        return Heard(), Observations()
    seen = replace(seen, expecting={path: files[path] for path in other})
    run = await run_suite({**files, **other}, project, sites, sandbox, seed, seen=seen)
    statuses = dict.fromkeys(seen.only, "error") if run.problems else {}
    statuses |= {node: str(row["status"]) for node, row in run.rows.items()}
    return heard(run.observed, statuses, texts, alone, ending(seen)), run.observed


async def holding(group: Group, keys: Sequence[str]) -> dict[str, str]:
    """Those of a file's tests that pass whatever they expect, and how."""
    subject, code = group.subject, group.code
    if code is None or not keys:
        return {}
    own = subject.files_for([*group.tests])
    files = {**subject.test_support, **own, group.path: code}
    nodes = {key: f"{group.path}::{key}" for key in keys}
    seen = Watching(
        tuple(path for path in own if path.endswith(".py") and path not in subject.test_support),
        (group.path, *subject.helpers(code)), only=tuple(nodes.values()),
    )
    project = Project(root="", name=subject.name, arguments=(group.path,), test_s=subject.test_s)
    said, _ = await double_checked(
        files, project, subject.task.sites, subject.sandbox, seen, code + subject.helper_words,
        subject.seeds.hash,
    )
    return {key: said.denied[node] for key, node in nodes.items() if node in said.denied}
