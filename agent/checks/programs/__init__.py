"""Programs that run inside the jail; they import only the standard library, pytest and each other."""
