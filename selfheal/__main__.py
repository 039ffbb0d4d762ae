"""`python -m selfheal`, the same as the command `heal`."""

from agent.interfaces import main

main()
