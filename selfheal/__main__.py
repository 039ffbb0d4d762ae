"""`python -m selfheal`, the same as the command `heal`."""

from agent.doors import main

main()
