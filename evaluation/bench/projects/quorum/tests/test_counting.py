import unittest
from fractions import Fraction
from unittest import mock

import quorum
from quorum import Poll, QuorumError, Result, apportion


class CountCase(unittest.TestCase):
    """Nine voters of whom most would rather not have anna."""

    def setUp(self):
        self.poll = Poll(["anna", "ben", "carl"])
        self.poll.read("4x anna > ben > carl\n3x ben > carl > anna\n2x carl > ben > anna")

    def test_first(self):
        self.assertEqual(self.poll.count("first").ranking, [["anna"], ["ben"], ["carl"]])

    def test_an_alias(self):
        self.assertEqual(self.poll.count("FPTP").name, "first")

    def test_first_past_the_post(self):
        self.assertEqual(self.poll.count("fptp").winners, ["anna"])

    def test_an_alias_of_the_duels(self):
        self.assertEqual(self.poll.count("duels").name, "copeland")

    def test_approval(self):
        self.assertEqual(self.poll.count("approval").winners, ["anna", "ben", "carl"])

    def test_borda(self):
        self.assertEqual(self.poll.count("borda").scores, {"anna": 8, "ben": 12, "carl": 7})

    def test_copeland(self):
        self.assertEqual(self.poll.count("copeland").scores, {"anna": -2, "ben": 2, "carl": 0})

    def test_minimax(self):
        self.assertEqual(self.poll.count("minimax").scores, {"anna": -5, "ben": -4, "carl": -7})

    def test_runoff(self):
        self.assertEqual(self.poll.count("irv").ranking, [["ben"], ["anna"], ["carl"]])

    def test_equals_share_a_first_rank(self):
        self.poll.read("2x anna = carl")
        self.assertEqual(self.poll.count("first").scores, {"anna": 5, "ben": 3, "carl": 3})

    def test_equals_halve_a_point(self):
        poll = Poll("ab")
        poll.add([("a", "b")])
        self.assertEqual(poll.count("borda").scores, {"a": Fraction(1, 2), "b": Fraction(1, 2)})

    def test_a_runoff_tie_falls_by_the_last_round_first(self):
        poll = Poll("abcd")
        poll.read("5x a\n3x b\n2x c > b\n4x d > c\n1x c")
        self.assertEqual(poll.count("runoff").scores, {"b": 0, "c": 1, "d": 2, "a": 3})

    def test_a_runoff_goes_on_to_the_next_name(self):
        poll = Poll("abc")
        poll.read("3x a\n2x b > a\n4x c")
        self.assertEqual(poll.count("runoff").winners, ["a"])

    def test_a_single_candidate(self):
        self.assertEqual(Poll("a").count("minimax").scores, {"a": 0})

    def test_an_own_method(self):
        with mock.patch.dict(quorum.METHODS):
            quorum.method("name")(lambda poll: {name: -ord(name[0]) for name in poll.candidates})
            self.assertEqual(self.poll.count("name").winners, ["anna"])
        self.assertNotIn("name", quorum.METHODS)


class ResultCase(unittest.TestCase):
    def test_ties(self):
        result = Result("x", {"b": 1, "a": 1, "c": 2})
        self.assertEqual(result.ranking, [["c"], ["a", "b"]])
        self.assertFalse(result.is_tied)

    def test_top(self):
        result = Result("x", {"a": 3, "b": 2, "c": 2})
        self.assertEqual(result.top(3), ["a", "b", "c"])
        with self.assertRaisesRegex(QuorumError, "a tie for seat 2: b, c"):
            result.top(2)

    def test_a_tie_below_the_line_does_no_harm(self):
        self.assertEqual(Result("x", {"a": 3, "b": 2, "c": 2}).top(1), ["a"])

    def test_nobody(self):
        self.assertEqual(Result("x", {}).winners, [])


class MajorityCase(unittest.TestCase):
    def setUp(self):
        self.poll = Poll(["yes", "no"])
        self.poll.read("6x yes\n3x no\n5x abstain")

    def test_simple(self):
        self.assertTrue(self.poll.passes("yes"))
        self.assertFalse(self.poll.passes("no"))

    def test_half_is_not_a_simple_majority(self):
        self.poll.read("3x no")
        self.assertFalse(self.poll.passes("yes"))

    def test_two_thirds_are_enough(self):
        self.assertTrue(self.poll.passes("yes", "two-thirds"))

    def test_two_thirds_of_three(self):
        poll = Poll("ab")
        poll.read("2x a\nb")
        self.assertTrue(poll.passes("a", "two-thirds"))
        self.assertFalse(poll.passes("b", "two-thirds"))

    def test_all_of_them(self):
        poll = Poll("a")
        poll.add("a")
        self.assertTrue(poll.passes("a", "unanimous"))

    def test_three_quarters(self):
        self.assertFalse(self.poll.passes("yes", "three-quarters"))

    def test_no_votes_pass_nothing(self):
        self.assertFalse(Poll("a").passes("a", "plurality"))


class ApportionCase(unittest.TestCase):
    votes = {"red": 53, "blue": 24, "green": 23}

    def test_webster(self):
        self.assertEqual(apportion(self.votes, 7), {"red": 3, "blue": 2, "green": 2})

    def test_jefferson_favours_the_large(self):
        self.assertEqual(apportion(self.votes, 7, "jefferson"), {"red": 4, "blue": 2, "green": 1})

    def test_adams_gives_everybody_one(self):
        self.assertEqual(apportion(self.votes, 3, "adams"), {"red": 1, "blue": 1, "green": 1})

    def test_adams_with_a_tiny_party(self):
        self.assertEqual(apportion({"big": 99, "tiny": 1}, 4, "adams"), {"big": 3, "tiny": 1})

    def test_danish(self):
        self.assertEqual(apportion({"a": 100, "b": 30}, 3, "danish"), {"a": 2, "b": 1})

    def test_parties_below_a_threshold(self):
        shares = apportion({"a": 95, "b": 5}, 20, threshold=Fraction(1, 10))
        self.assertEqual(shares, {"a": 20, "b": 0})

    def test_a_threshold_reached_exactly(self):
        self.assertEqual(apportion({"a": 9, "b": 1}, 10, threshold=Fraction(1, 10))["b"], 1)

    def test_the_threshold_of_all_votes(self):
        self.assertEqual(apportion({"a": 4, "b": 1}, 5, threshold=Fraction(1, 5)), {"a": 4, "b": 1})

    def test_equal_parties_by_name(self):
        self.assertEqual(apportion({"b": 5, "a": 5}, 1), {"b": 0, "a": 1})

    def test_no_votes_at_all(self):
        self.assertEqual(apportion({"a": 0}, 3), {"a": 0})


if __name__ == "__main__":
    unittest.main()
