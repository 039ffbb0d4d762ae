"""A level is what canaries showed, beside what they showed without a jail."""

from __future__ import annotations

import pytest

from sandbox.inside.canaries import CANARIES
from sandbox.levels import measured_isolation

FREE = dict.fromkeys(CANARIES, "")
HELD = FREE | {
    "open a socket": "EACCES", "start a process": "EPERM", "run a program": "EPERM",
    "signal another process": "EPERM", "trace another process": "EPERM",
    "enter a namespace": "EPERM", "read a file": "EACCES", "list a folder": "EACCES",
    "write a file": "EACCES", "write outside its folder": "EACCES",
}
CLOSED = dict.fromkeys(
    ("read a file", "list a folder", "write a file", "write outside its folder"), "EPERM"
)
APART = {"see the file system": "ENOENT", "see the parent process": "ESRCH"}


@pytest.mark.parametrize(
    ("controls", "met", "level"),
    [
        (FREE, HELD | APART, "L4"),
        (FREE, HELD, "L3"),
        (FREE, HELD | CLOSED, "L2"),
        (FREE, FREE, "L1"),
        (FREE, HELD | {"open a socket": ""}, "L1"),
        (FREE, HELD | {"read a file": ""}, "L1"),
        # A container refuses namespaces by the same name: that one shows nothing, the rest do.
        (FREE | {"enter a namespace": "EPERM"}, HELD, "L3"),
        (FREE | {"enter a namespace": "EPERM"}, HELD | {"enter a namespace": ""}, "L1"),
        # What was refused before all of it proves no layer.
        (HELD, HELD, "L1"),
        ({}, {}, "L1"),
    ],
)
def test_the_level_is_the_strongest_whose_layers_were_seen_to_refuse(
    controls: dict[str, str], met: dict[str, str], level: str
) -> None:
    assert measured_isolation(controls, met).level == level


def test_every_canary_tells_of_a_layer() -> None:
    seen = " ".join(layer.seen for layer in measured_isolation(FREE, HELD | APART).layers)

    assert [name for name in CANARIES if f"{name}: " not in seen] == []
    assert "not tried" not in seen
