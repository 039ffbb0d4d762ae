from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from llm import Usage
from llm.prices import BadPrices, default_prices, prices_with, read_prices
from llm.provider import PROVIDERS

ROW = "{from: 2026-01-01, input: 1, output: 2, cache_read: 3, cache_write: 4}"
TODAY = date(2026, 11, 22)


def table(folder: Path, text: str) -> Path:
    path = folder / "prices.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_each_kind_of_token_has_its_rate(tmp_path: Path) -> None:
    prices = read_prices(table(tmp_path, f"models: {{p: {{m: [{ROW}]}}}}"))
    million = 1_000_000
    assert prices.cost("p", "m", Usage(million, million, million, million), TODAY) == 10.0
    assert prices.cost("p", "m", Usage(), TODAY) == 0.0
    assert prices.most("p", "m", million, million, TODAY) == 6.0


@pytest.mark.parametrize(("provider", "model"), [("p", "other"), ("other", "m")])
def test_an_unlisted_price_is_unknown(tmp_path: Path, provider: str, model: str) -> None:
    prices = read_prices(table(tmp_path, f"models: {{p: {{m: [{ROW}]}}}}"))
    assert prices.cost(provider, model, Usage(1, 1), TODAY) is None
    assert prices.most(provider, model, 1, 1, TODAY) is None


def test_rates_depend_on_day_length_and_name() -> None:
    prices = default_prices()
    read = Usage(read=1_000_000)
    assert prices.cost("anthropic", "claude-sonnet-5-5", read, date(2026, 10, 6)) == 0.2
    assert prices.cost("anthropic", "claude-sonnet-5-5", read, date(2026, 10, 7)) == 0.1
    assert prices.cost("anthropic", "claude-sonnet-5-5", read, date(2025, 1, 1)) is None

    prices = default_prices()
    short, long = Usage(100_000, 0), Usage(60_000, 0, 40_001)
    assert prices.cost("anthropic", "claude-haiku-5-5", short, TODAY) == pytest.approx(0.01)
    assert prices.cost("anthropic", "claude-haiku-5-5", long, TODAY) == pytest.approx(
        (60_000 * 0.5 + 40_001 * 0.05) / 1e6
    )

    dated = default_prices().cost("anthropic", "claude-haiku-4-5-20251001", Usage(1_000_000), TODAY)
    assert dated == 1.0


@pytest.mark.parametrize("provider", ["ollama", "huggingface", "vllm", "mock"])
def test_what_runs_on_the_users_machine_is_free(provider: str) -> None:
    assert default_prices().cost(provider, "anything", Usage(9, 9), TODAY) == 0.0


def test_the_default_models_of_claude_have_a_price() -> None:
    for option in ("model", "fast_model"):
        model = str(PROVIDERS["anthropic"].default(option))
        assert default_prices().price("anthropic", model, TODAY) is not None


def test_a_users_own_table_comes_first(tmp_path: Path) -> None:
    own = table(tmp_path, f"models: {{anthropic: {{claude-sonnet-5-5: [{ROW}]}}}}\nfree: [mine]\n")
    prices = prices_with(own)
    assert prices.cost("anthropic", "claude-sonnet-5-5", Usage(1_000_000), TODAY) == 1.0
    assert prices.cost("anthropic", "claude-opus-5-5", Usage(1_000_000), TODAY) == 4.0
    assert prices.cost("mine", "m", Usage(1), TODAY) == 0.0


@pytest.mark.parametrize("text", [
    "[]", "models: 3", "models: {p: {m: [1]}}", "models: {p: {m: [{from: 2026-01-01}]}}",
    "models: {p: {m: [{from: soon, input: 1, output: 2, cache_read: 3, cache_write: 4}]}}",
    f"models: {{p: {{m: [{ROW}]}}}}\nextra: 1", "models: {p: {m: [{", "models: {}\nfree: 3",
    "models: {p: {m: [{from: 2026-01-01, input: -1, output: 2, cache_read: 3, cache_write: 4}]}}",
    "models: {p: {m: [{from: 2026-01-01, input: .nan, output: 2, cache_read: 3, cache_write: 4}]}}",
])
def test_a_wrong_table_is_refused_with_its_name(tmp_path: Path, text: str) -> None:
    with pytest.raises(BadPrices, match=r"prices\.yaml"):
        read_prices(table(tmp_path, text))


def test_a_missing_table_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadPrices, match=r"none\.yaml"):
        prices_with(tmp_path / "none.yaml")
