"""A pytest plugin that writes how each test came out into the file that OUTCOMES names."""

import json
import os
from typing import Any

SEEN: dict[str, str] = {}


def pytest_runtest_logreport(report: Any) -> None:
    node = report.nodeid
    was = SEEN.get(node)
    if hasattr(report, "wasxfail"):
        now = "xfailed" if report.skipped else "xpassed" if report.when == "call" else None
    elif report.failed:
        now = "failed" if report.when == "call" else "error"
    elif report.skipped:
        now = "skipped"
    else:
        now = "passed" if report.when == "call" else None
    if now and (was is None or now == "error" or (now == "failed" and was != "error")):
        SEEN[node] = now


def pytest_collectreport(report: Any) -> None:
    if report.failed:
        SEEN[""] = "error"


def pytest_sessionfinish(session: Any) -> None:
    with open(os.environ["OUTCOMES"], "w") as file:
        json.dump(SEEN, file)
