"""Whether a PATH means a project or one file; it imports little."""

from __future__ import annotations

from pathlib import Path

from agent.intake.errors import BadInput
from agent.project.layout import TEST_FILES, find_layout


def is_of_project(path: str, *, brings_tests: bool = False) -> bool:
    """Whether a PATH names a project or its tests, and no program."""
    place = Path(path)
    if brings_tests and place.is_file():
        return False
    return "::" in path or place.is_dir() or (place.is_file() and _is_test_file(place))


def _is_test_file(place: Path) -> bool:
    from agent.doors.project.choice import node_at
    from agent.project.tree import is_collected, telling_patterns

    if place.suffix != ".py" or is_collected(place.name, TEST_FILES):
        return place.suffix == ".py"
    try:
        layout = find_layout(place)
        telling = telling_patterns(layout.test_files)
    except BadInput:
        return False  # settings that cannot be read say nothing of a file
    return is_collected(node_at(str(place), layout), telling)
