"""What this machine offers a model, and the number format that follows from it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from llm.providers.machine import free_mib

Dtype = Literal["float32", "bfloat16", "float16"]

_NATIVE_BFLOAT16 = {"avx512_bf16", "amx_bf16"}
_BYTES: dict[Dtype, int] = {"float32": 4, "bfloat16": 2, "float16": 2}


@dataclass(frozen=True)
class Hardware:
    """A device, what it can do, and the MiB that are free on it (`None`: unknown)."""

    device: Literal["cpu", "cuda"]
    capability: tuple[int, int] = (0, 0)
    """A CUDA device's; (8, 0) is the first that computes in bfloat16 itself."""
    flags: frozenset[str] = frozenset()
    """A processor's."""
    free_mib: int | None = None


def dtype_for(hardware: Hardware) -> Dtype:
    """The format that is computed in: bfloat16 only where the hardware has it natively, since it is
    emulated, and slow, elsewhere."""
    if hardware.device == "cuda":
        return "bfloat16" if hardware.capability >= (8, 0) else "float16"
    return "bfloat16" if hardware.flags & _NATIVE_BFLOAT16 else "float32"


def needed_mib(matrices: int, others: int, dtype: Dtype, four_bit: bool) -> int:
    """Memory of a model by its count of parameters: those in the matrices of its layers, which can
    have 4 bits and an eighth of overhead, and the others, which cannot."""
    a_matrix = 0.5625 if four_bit else float(_BYTES[dtype])
    return int((matrices * a_matrix + others * _BYTES[dtype]) / 2**20)


def lookup_tokens(hardware: Hardware, dtype: Dtype, four_bit: bool) -> int:
    """How many copied tokens one forward should verify. On a GPU, and in bfloat16, ten cost hardly
    more than one; in float32, and in 4 bits on a processor, they cost nearly four times as much."""
    cheap = hardware.device == "cuda" or (dtype == "bfloat16" and not four_bit)
    return 10 if cheap else 5


def this_hardware() -> Hardware:
    """The first CUDA device, or else the processor."""
    import torch

    if torch.cuda.is_available():
        free, _ = torch.cuda.mem_get_info(0)
        capability: tuple[int, int] = torch.cuda.get_device_capability(0)
        return Hardware("cuda", capability, free_mib=free // 2**20)
    return Hardware("cpu", flags=_flags(), free_mib=free_mib())


def _flags() -> frozenset[str]:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").split("\n")
    except OSError:
        return frozenset()  # no Linux: the flags are unknown, and float32 is right everywhere
    return frozenset(
        flag for line in lines if line.startswith("flags") for flag in line.split(":")[1].split()
    )
