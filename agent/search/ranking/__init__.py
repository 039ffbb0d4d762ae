"""Ranks plausible candidates, and asks the user where several behave differently."""
