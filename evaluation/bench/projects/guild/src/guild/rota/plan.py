"""Plans of duty: everybody as often as the others, nobody two days running."""

import collections
import datetime

from guild.rota.days import month_days

WEEKEND = (5, 6)


class NobodyLeft(Exception):
    """No member can take a day."""

    def __init__(self, day):
        super().__init__(f"nobody can take {day}")
        self.day = day


class Plan:
    """Members with the days they are away, and the duties given out so far."""

    #: what a duty counts on a weekend
    weekend_weight = 2

    def __init__(self, members, rest_days=1):
        self.away = {name: set() for name in members}
        self.rest_days = rest_days
        self.duties = {}

    def leave(self, name, first, last=None):
        """Note that somebody is away, from the first to the last day."""
        day, last = first, last or first
        while day <= last:
            self.away[name].add(day)
            day += datetime.timedelta(days=1)

    def load(self, name):
        """How much somebody has done; weekends weigh more."""
        return sum(
            self.weekend_weight if day.weekday() in WEEKEND else 1
            for day, member in self.duties.items()
            if member == name
        )

    def free(self, day):
        """Who can take a day: is not away and has had rest."""
        for name in self.away:
            if day in self.away[name]:
                continue
            near = (day + datetime.timedelta(days=n) for n in range(-self.rest_days, self.rest_days + 1))
            if any(self.duties.get(one) == name for one in near):
                continue
            yield name

    def fill(self, month):
        """Give out the open days of a month that nobody has; the least loaded comes first.

        Raises NobodyLeft; what was given out before stays.
        """
        for day in month_days(month):
            if day in self.duties:
                continue
            names = sorted(self.free(day), key=lambda name: (self.load(name), name))
            if not names:
                raise NobodyLeft(day)
            self.duties[day] = names[0]

    def swap(self, one, other):
        """Exchange the duties of two days; raises NobodyLeft where one of the two is away."""
        first, second = self.duties[one], self.duties[other]
        for name, day in ((first, other), (second, one)):
            if day in self.away[name]:
                raise NobodyLeft(day)
        self.duties[one], self.duties[other] = second, first

    def text(self):
        """A line a day: "We 01.05. anna"."""
        names = ("Mo", "Tu", "We", "Th", "Fr", "Sa", "Su")
        return "\n".join(
            f"{names[day.weekday()]} {day:%d.%m.} {name}" for day, name in sorted(self.duties.items())
        )

    def counts(self):
        """Duties by member, those without any too."""
        counts = collections.Counter(self.duties.values())
        return {name: counts[name] for name in sorted(self.away)}
