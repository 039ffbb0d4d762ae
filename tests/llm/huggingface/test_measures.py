"""What is measured of a local model is counted right."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluation.measures import local_model as measure


def test_the_measures_of_a_local_model_count(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from evaluation.measures import tiny_model

    monkeypatch.setattr(measure, "ANSWERS", 1)
    monkeypatch.setattr(measure, "ROWS", 1)
    monkeypatch.setattr(tiny_model, "large_tokenizer", tiny_model.tokenizer)

    sampled, looked_up = measure.validity()
    rates, wrong = measure.copying()

    assert sampled.endswith("3 of 3 answers valid under 3 schemas")
    assert "3 of 3 valid, 3 the same" in looked_up
    assert float(rates.split(": ")[1].split(" ")[0]) > 2
    assert wrong.endswith(" 0 answers differ")


def test_without_the_packages_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "find_spec", lambda name: None)

    assert list(measure.local_model()) == [
        "skipped: torch, transformers, llguidance not installed; pip install -e '.[local]'"
    ]
