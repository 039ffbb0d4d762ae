import pytest

from windrow import Pipeline
from windrow.core.errors import BadSpec
from windrow.core.pipeline import arguments
from windrow.core.reading import clock
from windrow.core.registry import SINKS, STEPS, Registry


def test_an_empty_pipeline(at):
    assert list(Pipeline.parse("  ")([at(0, 1.0)])) == [at(0, 1.0)]


def test_it_is_lazy(at):
    def endless():
        while True:
            yield at(0, 1.0)

    assert next(Pipeline.parse("plausible | smooth")(endless())) == at(0, 1.0)


def test_a_quoted_bar():
    assert len(Pipeline.parse('only station="A|B" | plausible').steps) == 2


def test_arguments_with_blanks():
    assert arguments('a="b c" d-e=1') == {"a": "b c", "d_e": "1"}


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("plausible | | smooth", "a step is empty"),
        ("polish", "unknown step 'polish'; there are dewpoint, gaps"),
        ("smooth width=wide", "smooth: width cannot be 'wide'"),
        ("smooth depth=1", "smooth takes no 'depth'"),
        ("smooth 3", "cannot read '3'"),
        ("shift quantity=t", "shift needs by"),
        ("hourly keep-start=perhaps", "hourly: keep_start cannot be 'perhaps'"),
    ],
)
def test_bad_specs(spec, message):
    with pytest.raises(BadSpec, match=message):
        Pipeline.parse(spec)


def test_two_missing_arguments():
    with pytest.raises(BadSpec, match="shift needs quantity, by"):
        Pipeline.parse("shift")


def test_a_flag_that_is_off(at):
    (out,) = Pipeline.parse("hourly keep-start=no")([at(10, 1.0)])
    assert out.time == 3600


def test_joining(at):
    joined = Pipeline.parse("plausible") | Pipeline.parse("hourly") | STEPS["smooth"]()
    assert len(joined.steps) == 3
    assert [reading.value for reading in joined([at(0, 99.0), at(1, 1.0)])] == [1.0]


def test_sinks_are_registered():
    assert sorted(SINKS) == ["listing", "report"]


def test_names_of_parts():
    registry = Registry("part")

    @registry.register
    def import_from_(path: str):
        return path

    assert registry.make("import-from", {"path": "x"}) == "x"
    with pytest.raises(BadSpec, match="part import-from is registered twice"):
        registry.register(import_from_)


def test_the_clock_starts_again(day):
    assert clock(day) == "00:00"
    assert clock(day - 1) == "23:59"


def test_flags_in_other_words(at):
    times = [next(Pipeline.parse(f"hourly keep-start={word}")([at(10, 1.0)])).time for word in ("off", "On", "0")]
    assert times == [3600, 0, 3600]
