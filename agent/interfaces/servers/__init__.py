"""Servers for other programs: the Model Context Protocol and the Language Server Protocol."""
