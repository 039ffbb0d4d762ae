import pytest

from windrow import Pipeline


@pytest.fixture
def values():
    """The values that come out of a written pipeline."""

    def run(spec, readings):
        return [reading.value for reading in Pipeline.parse(spec)(readings)]

    return run
