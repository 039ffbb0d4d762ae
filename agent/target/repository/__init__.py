"""A repository on disk: its layout, its files, and the permissions of its tests."""
