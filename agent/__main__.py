"""`python -m agent`."""

from agent.doors import main

main()
