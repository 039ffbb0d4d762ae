"""The double-checked run: detects tests that pass whatever they expect.

Tests run again, and each check is evaluated with the true and with another expectation. The result
is evidence against a pass, never for one. Files whose expectations cannot be exchanged are left out
(`rewriting.expectations`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from agent.core.domain import Project
from agent.verify.groups import Group
from agent.verify.project.suite_double_check import (
    CheckReports,
    DoubleCheck,
    WatchedFiles,
    evaluate,
    exchanged_files,
    instrumented_nodes,
)
from agent.verify.project.suite_run import run_suite
from sandbox.sandbox import Sandbox


async def double_checked(
    files: Mapping[str, str], project: Project, package_folders: tuple[str, ...], sandbox: Sandbox,
    watching: WatchedFiles, texts: str, seed: int, alone: Collection[str] = (),
) -> tuple[DoubleCheck, CheckReports]:
    """Runs tests with other expectations.

    Args:
        files: Program and tests, path to text.
        watching: The files of the program and of the tests, and which tests run.
        texts: The joined texts of the tests.
        seed: The interpreter's hash seed.
        alone: Tests that may fail here because other tests do not run before them.
    """
    other = await asyncio.to_thread(exchanged_files, files, watching)
    if not other:
        return DoubleCheck(), CheckReports()
    watching = replace(watching, expecting={path: files[path] for path in other})
    both = {**files, **other}
    run = await run_suite(both, project, package_folders, sandbox, seed, watching=watching)
    statuses = dict.fromkeys(watching.only, "error") if run.problems else {}
    statuses |= {node: str(row["status"]) for node, row in run.outcomes.items()}
    ended = instrumented_nodes(watching)
    return evaluate(run.reports, statuses, texts, alone, ended), run.reports


async def double_check(group: Group, keys: Sequence[str]) -> dict[str, str]:
    """The tests of a file that pass whatever they expect, each with the reason."""
    subject, code = group.subject, group.code
    if code is None or not keys:
        return {}
    solution_files = subject.files_for([*group.tests])
    files = {**subject.test_support, **solution_files, group.path: code}
    nodes = {key: f"{group.path}::{key}" for key in keys}
    watching = WatchedFiles(
        tuple(
            path for path in solution_files
            if path.endswith(".py") and path not in subject.test_support
        ),
        (group.path, *subject.helpers(code)), only=tuple(nodes.values()),
    )
    project = Project(root="", name=subject.name, arguments=(group.path,), test_s=subject.test_s)
    result, _ = await double_checked(
        files, project, subject.task.site_dirs, subject.sandbox, watching,
        code + subject.helper_texts, subject.seeds.hash,
    )
    return {key: result.refuted[node] for key, node in nodes.items() if node in result.refuted}
