from datetime import date

import pytest

from guild.rota import NobodyLeft, Plan, closed, days, month_days


@pytest.fixture(autouse=True)
def fresh_cache():
    days.easter.cache_clear()
    yield
    assert days.easter.cache_info().currsize <= 64


class TestDays:
    @pytest.mark.parametrize(("year", "day"), [(2024, (3, 31)), (2025, (4, 20)), (1981, (4, 19)), (2038, (4, 25))])
    def test_easter(self, year, day):
        assert days.easter(year) == date(year, *day)

    @pytest.mark.parametrize(
        ("day", "why"),
        [
            (date(2024, 5, 1), "labour day"),
            (date(2024, 3, 29), "good friday"),
            (date(2024, 5, 20), "whit monday"),
            (date(2024, 5, 6), "rest"),
            (date(2024, 5, 7), ""),
        ],
    )
    def test_closed(self, day, why):
        assert closed(day) == why

    def test_ascension(self):
        assert closed(date(2024, 5, 9)) == "ascension"

    def test_ascension_of_another_year(self):
        assert [closed(date(2025, 5, day)) for day in (28, 29, 30)] == ["", "ascension", ""]

    def test_two_days_of_christmas(self):
        assert [closed(date(2024, 12, day)) for day in (25, 26, 27)] == ["christmas", "boxing day", ""]

    def test_a_month(self):
        assert len(list(month_days("2024-05"))) == 31 - 4 - 2

    def test_a_leap_day(self):
        assert list(month_days("2024-02"))[-1] == date(2024, 2, 29)

    def test_december(self):
        assert list(month_days("2024-12"))[-1] == date(2024, 12, 29)

    def test_following(self):
        assert days.following(date(2024, 4, 30)) == date(2024, 5, 2)

    def test_following_over_easter(self):
        assert days.following(date(2024, 3, 30)) == date(2024, 4, 2)


class TestPlan:
    @pytest.mark.month("2024-06")
    def test_nobody_two_days_running(self, rota):
        names = [name for _, name in sorted(rota.duties.items())]
        assert all(one != other for one, other in zip(names, names[1:]))

    @pytest.mark.month("2024-06")
    def test_loads_are_alike(self, rota, members):
        loads = [rota.load(name) for name in members]
        assert max(loads) - min(loads) <= 2

    @pytest.mark.month("2024-06")
    def test_text(self, rota):
        assert rota.text().splitlines()[:3] == ["Sa 01.06. anna", "Su 02.06. ben", "Tu 04.06. carl"]

    def test_who_is_away(self, rota):
        rota.leave("anna", date(2024, 6, 1), date(2024, 6, 4))
        rota.fill("2024-06")
        assert rota.duties[date(2024, 6, 4)] == "ben" or rota.duties[date(2024, 6, 4)] == "carl"
        assert rota.duties[date(2024, 6, 5)] == "anna"

    def test_a_single_day_off(self, rota):
        rota.leave("anna", date(2024, 6, 1))
        assert list(rota.free(date(2024, 6, 1))) == ["ben", "carl"]

    def test_a_duty_given_before_stays(self, rota):
        rota.duties[date(2024, 6, 1)] = "carl"
        rota.fill("2024-06")
        assert rota.duties[date(2024, 6, 1)] == "carl"

    def test_rest_counts_the_day_after_too(self, rota):
        rota.duties[date(2024, 6, 5)] = "anna"
        assert "anna" not in rota.free(date(2024, 6, 4))

    def test_longer_rest_before_a_duty(self, members):
        plan = Plan(members, rest_days=2)
        plan.duties[date(2024, 6, 7)] = "ben"
        assert list(plan.free(date(2024, 6, 5))) == ["anna", "carl"]

    def test_longer_rest(self, members):
        plan = Plan(members, rest_days=2)
        plan.duties[date(2024, 6, 5)] = "ben"
        assert list(plan.free(date(2024, 6, 7))) == ["anna", "carl"]

    def test_nobody_left(self):
        plan = Plan(["anna"])
        with pytest.raises(NobodyLeft, match="nobody can take 2024-06-02") as caught:
            plan.fill("2024-06")
        assert caught.value.day == date(2024, 6, 2)
        assert list(plan.duties) == [date(2024, 6, 1)]

    @pytest.mark.month("2024-06")
    def test_swap(self, rota):
        rota.swap(date(2024, 6, 1), date(2024, 6, 4))
        assert (rota.duties[date(2024, 6, 1)], rota.duties[date(2024, 6, 4)]) == ("carl", "anna")

    @pytest.mark.month("2024-06")
    def test_no_swap_with_who_is_away(self, rota):
        rota.leave("carl", date(2024, 6, 1))
        with pytest.raises(NobodyLeft):
            rota.swap(date(2024, 6, 1), date(2024, 6, 4))

    @pytest.mark.month("2024-06")
    def test_no_swap_in_the_other_direction(self, rota):
        rota.leave("anna", date(2024, 6, 4))
        with pytest.raises(NobodyLeft):
            rota.swap(date(2024, 6, 1), date(2024, 6, 4))

    def test_counts(self, rota):
        rota.duties[date(2024, 6, 1)] = "ben"
        assert rota.counts() == {"anna": 0, "ben": 1, "carl": 0}

    def test_a_weekend_weighs_more(self, rota):
        rota.duties[date(2024, 6, 1)] = rota.duties[date(2024, 6, 4)] = "ben"
        assert rota.load("ben") == 3
