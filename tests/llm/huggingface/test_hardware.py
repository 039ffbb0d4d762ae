"""The number format follows from the hardware."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")
from llm.providers.huggingface.loading import Hardware

T4 = Hardware("cuda", (7, 5))
A100 = Hardware("cuda", (8, 0))
OLD_CPU = Hardware("cpu", flags=frozenset({"avx2", "avx512f"}))
NEW_CPU = Hardware("cpu", flags=frozenset({"avx2", "amx_bf16"}))


@pytest.mark.parametrize(("hardware", "dtype", "lookup"), [
    (T4, "float16", 10),
    (A100, "bfloat16", 10),
    (OLD_CPU, "float32", 5),
    (NEW_CPU, "bfloat16", 10),
    (Hardware("cpu", flags=frozenset({"avx512_bf16"})), "bfloat16", 10),
    (Hardware("cpu"), "float32", 5),
])
def test_the_format_follows_the_hardware(hardware: Hardware, dtype: str, lookup: int) -> None:
    assert (hardware.dtype, hardware.lookup(four_bit=False)) == (dtype, lookup)


def test_four_bits_on_a_processor_make_verifying_dear() -> None:
    assert NEW_CPU.lookup(four_bit=True) == 5
    assert T4.lookup(four_bit=True) == 10
