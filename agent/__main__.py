"""`python -m agent`."""

from agent.interfaces import main

main()
