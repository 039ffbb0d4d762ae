"""A repository whose tests fail, from the command line."""
