"""Loads the local plugin for all tests."""

pytest_plugins = ["money_plugin"]
