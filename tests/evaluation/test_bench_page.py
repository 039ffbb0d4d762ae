"""Each measure of the page drives it in a browser and says what it found."""

from __future__ import annotations

import pytest

from evaluation import bench
from evaluation.measures import workbench
from evaluation.measures.processes import chromium

pytestmark = [
    pytest.mark.browser, pytest.mark.slow,
    pytest.mark.skipif(chromium() is None, reason="there is no chromium here"),
]


SAID = {
    "stop": "Stop to CANCELLED on the page: p50 ", "scrub": " frames a second, each: p50 ",
    "arrival": "interactive: median ", "click": "click to first visible event: p50 ",
}


@pytest.mark.nightly
@pytest.mark.parametrize("name", SAID)
def test_a_measure_of_the_page_says_what_it_found(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    small = {"TURNS": 2, "STOPPED": 2, "EVENTS": 120, "SCRUBBED_FRAMES": 10}
    for one, count in small.items():
        monkeypatch.setattr(workbench, one, count)
    assert bench.main([name]) == 0
    assert SAID[name] in capsys.readouterr().out
