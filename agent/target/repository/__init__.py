"""A repository on disk: its layout, its files, and what its tests are granted."""
