"""`python -m agent`."""

from agent.doors.cli import main

main()
