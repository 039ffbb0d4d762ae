"""`python -m agent`."""

from agent.cli import main

main()
