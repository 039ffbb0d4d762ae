"""A repository whose tests fail: found, laid into a jail, searched for a repair, and mended."""
