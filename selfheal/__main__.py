"""`python -m selfheal`, the same as the command `heal`."""

from agent.cli import main

main()
