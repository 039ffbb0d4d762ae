"""Programs that run inside the jail; they import the standard library, pytest and each other."""
