"""What every other part of the package needs."""
