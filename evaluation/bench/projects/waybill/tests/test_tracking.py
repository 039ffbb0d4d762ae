from unittest import mock

import pytest

from waybill import tracking
from waybill.errors import ServiceDown, WaybillError

NUMBER = "RR473124829DE"


@pytest.fixture(autouse=True)
def sleep(monkeypatch):
    fake = mock.Mock()
    monkeypatch.setattr("waybill.tracking.time.sleep", fake)
    yield fake


@pytest.mark.parametrize("text", [NUMBER, " rr473124829de ", "RR 473124829 DE", "RR-473124829-DE"])
def test_normal(text):
    assert tracking.normal(text) == NUMBER


@pytest.mark.parametrize(("text", "reason"), [("RR47312482DE", "not a tracking"), ("RR473124828DE", "wrong check")])
def test_wrong_numbers(text, reason):
    with pytest.raises(WaybillError, match=reason):
        tracking.normal(text)


@pytest.mark.parametrize(("digits", "check"), [("47312482", 9), ("00000000", 5), ("00000050", 0)])
def test_check_digits(digits, check):
    assert tracking.check_digit(digits) == check


def test_history_drops_repeated_states():
    events = [(3, "delivered"), (1, "PICKED_UP"), (2, "In Transit"), (4, "Lost")]
    assert list(tracking.history(events)) == [(1, "on its way"), (3, "delivered"), (4, "lost")]


def test_a_state_may_come_back():
    events = [(1, "IN_TRANSIT"), (2, "PICKUP_READY"), (3, "IN_TRANSIT")]
    assert [state for _, state in tracking.history(events)] == ["on its way", "waiting", "on its way"]


def test_wait_asks_for_the_normal_number():
    fetch = mock.Mock(return_value=[])
    assert tracking.wait(fetch, "rr 473124829 de") == []
    fetch.assert_called_once_with(NUMBER)


def test_wait_asks_again(sleep):
    fetch = mock.Mock(side_effect=[ServiceDown(), ServiceDown(), [(1, "DELIVERED")]])
    assert tracking.wait(fetch, NUMBER) == [(1, "delivered")]
    assert sleep.call_args_list == [mock.call(1.0), mock.call(2.0)]


def test_wait_gives_up(sleep):
    fetch = mock.Mock(side_effect=ServiceDown("x"))
    with pytest.raises(ServiceDown):
        tracking.wait(fetch, NUMBER, tries=2)
    assert fetch.call_count == 2
    assert sleep.call_count == 1


def test_is_over():
    assert tracking.is_over([(1, "back")])
    assert not tracking.is_over([(1, "delivered"), (2, "waiting")])


def test_nothing_is_not_over():
    assert tracking.is_over([]) is False


def test_a_number_with_the_check_digit_five():
    assert tracking.normal("AA000000005US") == "AA000000005US"


def test_a_number_that_nobody_has_seen_is_not_over():
    assert not tracking.is_over(tracking.wait(lambda number: [], NUMBER))
