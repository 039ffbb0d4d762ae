"""What holds untrusted code back here, as it was seen and in words for people."""

from __future__ import annotations

from typing import get_args

from agent.core.domain import Jail, JailLayer
from agent.judge import jail_modules as shipping
from sandbox import Job, Sandbox
from sandbox.levels import MEANING, JailLevel, Witness


async def witnessed(sandbox: Sandbox, sites: tuple[str, ...] = ()) -> Jail:
    """The level seen to hold, on the interpreter that the judge will use for these `sites`.

    Raises `SandboxError`.
    """
    coming = Job("", modules=shipping.modules(), sites=sites)
    return as_told(await sandbox.witness(coming), sandbox.name)


def as_told(witness: Witness, backend: str) -> Jail:
    """A witness as events and faces carry it."""
    seen = " seen to hold" if witness.level in get_args(JailLevel) else ""
    lacks = "".join(
        f"; no jail: {layer.seen}" for layer in witness.layers if layer.name == "jail"
    )
    return Jail(
        words=f"{backend}: {witness.level}{seen}: {MEANING[witness.level]}{lacks}",
        level=witness.level,
        layers=tuple(
            JailLayer(name=layer.name, holds=layer.holds, seen=layer.seen)
            for layer in witness.layers
        ),
    )
