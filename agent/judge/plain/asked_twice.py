"""Whether checks of a test file hold with something else than they expect.

The tests of one file that cannot be followed from outside are asked as a project's are
(`project_doubt`): once more, each check twice. It is evidence against a pass, never for one, so a
file that does not run in this way tells nothing; and only a check that holds with another
expectation counts, or an object that equals what its contents differ from: of texts that is left
alone, as they may heed no case.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from agent.core.domain import Project
from agent.judge.groups import Group
from agent.judge.project_doubt import Told, Watching, exchanged_files, heard
from agent.judge.project_run import run_suite
from agent.judge.signs import may_lie


async def holding(group: Group, keys: Sequence[str]) -> dict[str, str]:
    """Those of a file's tests in which a check holds whatever is expected, and where."""
    subject, code = group.subject, group.code
    own = subject.files_for([*group.tests])
    if code is None or not keys or not may_lie("".join(own.values())):
        return {}
    files = {**subject.test_support, **own, group.path: code}
    nodes = [f"{group.path}::{key}" for key in keys]
    seen = Watching(
        tuple(path for path in own if path.endswith(".py") and path not in subject.test_support),
        (group.path, *subject.helpers(code)), only=tuple(nodes),
    )
    other = exchanged_files(files, seen)
    if not other:
        return {}
    project = Project(root="", name=subject.name, arguments=(group.path,), test_s=subject.test_s)
    seen = replace(seen, expecting={group.path: code})
    run = await run_suite(
        files | other, project, subject.task.sites, subject.sandbox, subject.seeds.hash, seen=seen,
    )
    told = Told(checks=[
        one for one in run.told.checks
        if one["how"] in ("held", "failed", "changed") or (one["how"] == "lies" and not one["text"])
    ])
    denied = heard(told, {}, code + subject.helper_words).denied
    return {
        key: denied[node] for key, node in zip(keys, nodes, strict=True) if node in denied
    }
