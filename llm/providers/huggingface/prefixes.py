"""Keys and values of system prompts, computed once and copied for each call."""

from __future__ import annotations

import copy
from collections import OrderedDict
from typing import Any

import torch

SHORTEST = 16
"""Tokens below which nothing is gained."""


class Prefixes:
    """The last few prefixes. They are found by token ids: two texts that begin alike may well be
    written with different tokens."""

    def __init__(self, network: Any, device: str, most: int = 4) -> None:
        self._network = network
        self._device = device
        self._most = most
        self._kept: OrderedDict[tuple[int, ...], Any] = OrderedDict()

    def copy_of(self, prefix: tuple[int, ...]) -> tuple[Any, bool]:
        """A cache that may be written to, and whether it was there already."""
        at_hand = prefix in self._kept
        if not at_hand:
            tokens = torch.tensor([prefix], device=self._device)
            output = self._network(tokens, use_cache=True, logits_to_keep=1)
            self._kept[prefix] = output.cache
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
        self._kept.move_to_end(prefix)
        return copy.deepcopy(self._kept[prefix]), at_hand
