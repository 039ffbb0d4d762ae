"""How much a backend holds back: the level that was seen to hold, not the one asked for."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal

Level = Literal["L4", "L3", "L2", "L1", "R"]
"""L4 namespaces, and all of L3 · L3 Landlock, seccomp, limits · L2 seccomp without any file,
limits · L1 limits only · R elsewhere, in someone else's sandbox."""

JailLevel = Literal["L2", "L3", "L4"]
"""The levels of the backend `jail`, weakest first."""

LEVEL_MEANINGS: dict[Level, str] = {
    "L4": "own namespaces, Landlock, seccomp, limits",
    "L3": "Landlock, seccomp, limits",
    "L2": "seccomp without any file, limits",
    "L1": "limits only: the network and readable files are open",
    "R": "a remote sandbox; what it holds back is its provider's word",
}
SAFE_FOR_PUBLIC: frozenset[Level] = frozenset({"L4", "L3", "L2", "R"})
"""Levels behind which a public server may run anyone's code."""

_FILTERED = (
    "open a socket", "start a process", "run a program", "signal another process",
    "trace another process", "enter a namespace",
)
_GUARDED = ("read a file", "list a folder", "write a file", "write beside the own folder")
_APART = ("see the file system", "see the parent process")
_OPEN = {
    "processes": (
        "start a process", "run a program", "signal another process", "see the parent process",
    ),
    "loopback": ("open a socket", "see the parent process"),
}
"""Canaries that show nothing about a job with such a grant: every process they reach is its own, or
the first process of its pid space, which heeds no signal."""


@dataclass(frozen=True)
class Layer:
    """One layer of a jail and what was seen of it."""

    name: str
    holds: bool
    seen: str


@dataclass(frozen=True)
class Isolation:
    """What was seen to hold on this machine, at this start."""

    level: Level
    layers: tuple[Layer, ...]
    grants: frozenset[str] = frozenset()
    """What jobs that ask for it are granted here beyond one process: "processes", "loopback"."""


def isolation_shown(
    controls: Mapping[str, str], met: Mapping[str, str], grants: Collection[str] = ()
) -> Isolation:
    """The level that canaries show.

    `controls` and `met` give for each canary the error it met before and inside the jail, empty
    where it got through. One whose control was refused in the same way shows nothing; of each
    layer all canaries must be refused, and one at least that was not refused before; but for
    those that `grants` leave open.
    """
    left = {name for grant in grants for name in _OPEN[grant]}
    filtered = tuple(name for name in _FILTERED if name not in left)
    places = tuple(name for name in _APART if name not in left)
    seccomp = _layer("seccomp", filtered, {"EPERM", "EACCES"}, controls, met)
    files = _layer("files", _GUARDED, {"EPERM", "EACCES", "ENOENT", "EROFS"}, controls, met)
    landlock = _layer("Landlock", _GUARDED[-1:], {"EACCES"}, controls, met)
    spaces = _layer("namespaces", places, {"ENOENT", "ESRCH"}, controls, met)
    level: Level = "L1"
    if seccomp.holds and files.holds:
        level = "L2"
        if landlock.holds:
            level = "L4" if spaces.holds else "L3"
    return Isolation(level, (seccomp, files, landlock, spaces), frozenset(grants))


def _layer(
    name: str,
    canaries: tuple[str, ...],
    refusals: set[str],
    controls: Mapping[str, str],
    met: Mapping[str, str],
) -> Layer:
    seen = []
    all_refused, some_tell = True, False
    for canary in canaries:
        before, inside = controls.get(canary, "not tried"), met.get(canary, "not tried")
        refused, tells = inside in refusals, inside != before
        all_refused = all_refused and refused
        # A container refuses a few of them itself, and hides whether this layer does.
        some_tell = some_tell or (refused and tells)
        note = "" if refused and tells else " (without the jail too)" if refused else (
            " (not refused)"
        )
        seen.append(f"{canary}: {inside or 'possible'}{note}")
    return Layer(name, all_refused and some_tell, "; ".join(seen))
