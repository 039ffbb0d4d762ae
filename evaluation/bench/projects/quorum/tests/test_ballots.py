import unittest

from quorum import BadBallot, NotEnoughBallots, Poll, QuorumError, UnknownMethod

BALLOTS = """
3x anna > ben > carl   # the board
2: ben = carl
carl
abstain
2x -
"""


class ReadingCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.poll = Poll(["anna", "ben", "carl"], minimum=8)
        cls.poll.read(BALLOTS)

    def test_weights(self):
        self.assertEqual(self.poll.ballots[("anna",), ("ben",), ("carl",)], 3)

    def test_a_colon_after_the_weight(self):
        self.assertEqual(self.poll.ballots[(("ben", "carl"),)], 2)

    def test_abstentions(self):
        self.assertEqual(self.poll.abstentions, 3)

    def test_voters(self):
        self.assertEqual(self.poll.voters, 9)

    def test_beats(self):
        self.assertEqual(self.poll.beats("ben", "anna"), 2)
        self.assertEqual(self.poll.beats("ben", "carl"), 3)

    def test_who_is_not_named_stands_last(self):
        self.assertEqual(self.poll.beats("carl", "anna"), 3)

    def test_two_who_are_not_named_are_equal(self):
        poll = Poll("abc")
        poll.add("c")
        self.assertEqual((poll.beats("a", "b"), poll.beats("b", "a")), (0, 0))


class BadCase(unittest.TestCase):
    def setUp(self):
        self.poll = Poll(["anna", "ben"])

    def test_an_unknown_name(self):
        with self.assertRaisesRegex(BadBallot, "zoe does not stand"):
            self.poll.add(["zoe"])

    def test_a_name_twice(self):
        with self.assertRaisesRegex(BadBallot, "anna is named twice"):
            self.poll.add(["anna", ("ben", "anna")])

    def test_an_empty_rank(self):
        with self.assertRaisesRegex(BadBallot, "a rank is empty: 'ben ='"):
            self.poll.read("anna > ben =")

    def test_an_empty_rank_in_the_middle(self):
        with self.assertRaisesRegex(BadBallot, "a rank is empty: ''"):
            self.poll.read("anna > > ben")

    def test_an_empty_ballot_is_an_abstention(self):
        self.poll.add([], weight=2)
        self.assertEqual((self.poll.abstentions, len(self.poll.ballots)), (2, 0))

    def test_equals_in_any_order_are_one_ballot(self):
        self.poll.add([("anna", "ben")])
        self.poll.add([("ben", "anna")])
        self.assertEqual(len(self.poll.ballots), 1)

    def test_written_equals_in_any_order(self):
        self.poll.read("2x anna = ben\nben = anna")
        self.assertEqual(list(self.poll.ballots.values()), [3])

    def test_a_candidate_twice(self):
        with self.assertRaises(QuorumError):
            Poll(["anna", "anna"])

    def test_an_unknown_method(self):
        with self.assertRaises(UnknownMethod):
            self.poll.count("dice")

    def test_an_unknown_method_is_a_quorum_error(self):
        with self.assertRaises(QuorumError):
            self.poll.count("coin")

    def test_too_few_ballots(self):
        poll = Poll("ab", minimum=3)
        poll.read("2x a\n")
        with self.assertRaisesRegex(NotEnoughBallots, "2 of 3 ballots"):
            poll.count("first")

    def test_abstentions_make_up_the_quorum(self):
        poll = Poll("ab", minimum=3)
        poll.read("2x a\nblank")
        self.assertEqual(poll.count("first").winners, ["a"])


if __name__ == "__main__":
    unittest.main()
