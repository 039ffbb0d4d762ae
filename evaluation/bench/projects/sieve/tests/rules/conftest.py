import pytest

from sieve import rule


@pytest.fixture(autouse=True)
def fresh():
    rule.compile_rule.cache_clear()
    yield


@pytest.fixture
def value(record):
    from sieve.parser import parse

    return lambda text: rule.evaluate(parse(text), record)
