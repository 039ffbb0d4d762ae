"""Count ballots for a club's elections.

A ballot ranks candidates, best first; ties inside a ballot are written as tuples. A `Poll` keeps
the ballots with their weights and offers the methods of counting that are registered with
`@method`. All of them return a `Result`, whose ranking is a list of groups of equals.

QuorumError
├── BadBallot          a ballot that names nobody, or somebody twice
├── UnknownMethod
└── NotEnoughBallots   fewer voters than the rules ask for
"""

import collections
import fractions
import itertools
import math
import re

__all__ = ["BadBallot", "NotEnoughBallots", "Poll", "QuorumError", "Result", "UnknownMethod", "apportion", "method"]

METHODS = {}

#: majority name -> share of the votes that has to be passed, and whether reaching it is enough
MAJORITIES = {
    "plurality": (fractions.Fraction(0), False),
    "simple": (fractions.Fraction(1, 2), False),
    "two-thirds": (fractions.Fraction(2, 3), True),
    "three-quarters": (fractions.Fraction(3, 4), True),
    "unanimous": (fractions.Fraction(1), True),
}

#: apportionment rule -> divisor after a number of seats
DIVISORS = {
    "jefferson": lambda seats: seats + 1,
    "webster": lambda seats: 2 * seats + 1,
    "adams": lambda seats: seats,
    "danish": lambda seats: 3 * seats + 1,
}

BALLOT = re.compile(r"^(?:(?P<weight>\d+)\s*[x:]\s*)?(?P<ranks>.+)$")
ABSTENTIONS = {"", "-", "abstain", "blank"}


class QuorumError(Exception):
    """Anything that is wrong with a poll."""


class BadBallot(QuorumError, ValueError):
    """A ballot cannot be counted."""


class UnknownMethod(QuorumError, LookupError):
    """No such method of counting."""


class NotEnoughBallots(QuorumError):
    """Fewer voters than the rules ask for."""


def method(name, *aliases):
    """Register a function (poll) -> scores under a name and its aliases."""

    def register(function):
        for key in (name, *aliases):
            METHODS[key] = function
        function.method_name = name
        return function

    return register


class Result:
    """The outcome of a count: groups of equals, best first, and the scores behind them."""

    def __init__(self, name, scores):
        self.name = name
        self.scores = dict(scores)

    @property
    def ranking(self):
        """Groups of candidates with the same score, best first, each in order of name."""
        ordered = sorted(self.scores, key=lambda one: (-self.scores[one], one))
        groups = itertools.groupby(ordered, key=self.scores.get)
        return [list(group) for _, group in groups]

    @property
    def winners(self):
        """The candidates of the first group."""
        return self.ranking[0] if self.scores else []

    @property
    def is_tied(self):
        """Whether more than one candidate won."""
        return len(self.winners) > 1

    def top(self, seats):
        """The first `seats` candidates; raises QuorumError where a tie crosses the line."""
        chosen = []
        for group in self.ranking:
            if len(chosen) + len(group) > seats:
                if len(chosen) == seats:
                    break
                raise QuorumError(f"a tie for seat {len(chosen) + 1}: {', '.join(group)}")
            chosen.extend(group)
        return chosen

    def __repr__(self):
        return f"Result({self.name!r}, {self.ranking!r})"


class Poll:
    """Ballots over a fixed set of candidates."""

    def __init__(self, candidates, minimum=0):
        self.candidates = tuple(candidates)
        if len(set(self.candidates)) != len(self.candidates):
            raise QuorumError("a candidate stands twice")
        self.minimum = minimum
        self.ballots = collections.Counter()
        self.abstentions = 0

    def add(self, ballot, weight=1):
        """Add a ballot: a list of candidates and of tuples of equals."""
        ranks = tuple(rank if isinstance(rank, tuple) else (rank,) for rank in ballot)
        named = [name for rank in ranks for name in rank]
        for name in named:
            if name not in self.candidates:
                raise BadBallot(f"{name} does not stand")
            if named.count(name) > 1:
                raise BadBallot(f"{name} is named twice")
        if not named:
            self.abstentions += weight
            return
        self.ballots[tuple(tuple(sorted(rank)) for rank in ranks)] += weight

    def read(self, text):
        """Add a ballot a line: "3x anna > ben = carl"; "#" starts a comment."""
        for line in text.splitlines():
            line = line.partition("#")[0].strip()
            if not line:
                continue
            found = BALLOT.match(line)
            weight = int(found["weight"] or 1)
            ranks = found["ranks"].strip()
            if ranks.lower() in ABSTENTIONS:
                self.abstentions += weight
                continue
            self.add([self._rank(part) for part in ranks.split(">")], weight)

    @staticmethod
    def _rank(part):
        """One rank of a written ballot: a name or a tuple of equals."""
        names = [name.strip() for name in part.split("=")]
        if not all(names):
            raise BadBallot(f"a rank is empty: {part.strip()!r}")
        return names[0] if len(names) == 1 else tuple(names)

    @property
    def voters(self):
        """Everybody who handed a ballot in, abstentions too."""
        return sum(self.ballots.values()) + self.abstentions

    def count(self, name):
        """Count with a method; raises NotEnoughBallots, UnknownMethod."""
        if self.voters < self.minimum:
            raise NotEnoughBallots(f"{self.voters} of {self.minimum} ballots")
        try:
            function = METHODS[name.lower()]
        except KeyError:
            raise UnknownMethod(name) from None
        return Result(function.method_name, function(self))

    def beats(self, one, other):
        """How many voters rank `one` above `other`; who is not named stands last."""
        total = 0
        for ranks, weight in self.ballots.items():
            places = {name: place for place, rank in enumerate(ranks) for name in rank}
            if places.get(one, len(ranks)) < places.get(other, len(ranks)):
                total += weight
        return total

    def passes(self, candidate, majority="simple"):
        """Whether a candidate's first ranks are a majority; abstentions do not count."""
        share, reaching = MAJORITIES[majority]
        valid = sum(self.ballots.values())
        if not valid:
            return False
        got = fractions.Fraction(first_ranks(self)[candidate], valid)
        return got >= share if reaching else got > share


@method("first", "plurality", "fptp")
def first_ranks(poll, standing=None):
    """First ranks of each candidate; equals share a vote."""
    standing = poll.candidates if standing is None else standing
    scores = dict.fromkeys(standing, fractions.Fraction(0))
    for ranks, weight in poll.ballots.items():
        for rank in ranks:
            left = [name for name in rank if name in scores]
            if left:
                for name in left:
                    scores[name] += fractions.Fraction(weight, len(left))
                break
    return scores


@method("approval")
def approvals(poll):
    """How many ballots name a candidate at all."""
    scores = dict.fromkeys(poll.candidates, 0)
    for ranks, weight in poll.ballots.items():
        for name in itertools.chain.from_iterable(ranks):
            scores[name] += weight
    return scores


@method("borda")
def borda(poll):
    """Points for everybody a candidate beats, half a point for equals."""
    scores = dict.fromkeys(poll.candidates, fractions.Fraction(0))
    voters = sum(poll.ballots.values())
    for one, other in itertools.permutations(poll.candidates, 2):
        wins, losses = poll.beats(one, other), poll.beats(other, one)
        scores[one] += wins + fractions.Fraction(voters - wins - losses, 2)
    return scores


@method("copeland", "duels")
def copeland(poll):
    """Duels won minus duels lost."""
    scores = dict.fromkeys(poll.candidates, 0)
    for one, other in itertools.combinations(poll.candidates, 2):
        margin = poll.beats(one, other) - poll.beats(other, one)
        if margin:
            winner, loser = (one, other) if margin > 0 else (other, one)
            scores[winner] += 1
            scores[loser] -= 1
    return scores


@method("minimax")
def minimax(poll):
    """Minus the worst defeat."""
    return {
        one: -max((poll.beats(other, one) for other in poll.candidates if other != one), default=0)
        for one in poll.candidates
    }


@method("runoff", "irv")
def runoff(poll):
    """Rounds survived; each round drops who has the fewest first ranks, a tie by the round before.

    The winner has one round more than the last to go.
    """
    standing, history, scores = list(poll.candidates), [], {}
    for number in itertools.count():
        if len(standing) <= 1:
            scores.update(dict.fromkeys(standing, number))
            return scores
        history.append(first_ranks(poll, standing))
        weakest = min(standing, key=lambda name: [votes[name] for votes in reversed(history)])
        scores[weakest] = number
        standing.remove(weakest)


def apportion(votes, seats, rule="webster", threshold=0):
    """Share seats out to parties by a divisor rule; parties under the threshold get none.

    The threshold is a share of all votes. With equal quotients the larger party comes first,
    then the one that is first in order of name.
    """
    if rule not in DIVISORS:
        raise UnknownMethod(rule)
    total = sum(votes.values())
    taken = {party: 0 for party in votes}
    entitled = [party for party in votes if votes[party] and votes[party] >= threshold * total]
    divisor = DIVISORS[rule]
    for _ in range(seats if entitled else 0):

        def claim(party):
            by = divisor(taken[party])
            quotient = fractions.Fraction(votes[party], by) if by else math.inf
            return -quotient, -votes[party], party

        taken[min(entitled, key=claim)] += 1
    return taken
