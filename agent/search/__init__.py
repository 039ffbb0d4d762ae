"""Search repair: pure generators of candidates; only `screening` runs any."""
