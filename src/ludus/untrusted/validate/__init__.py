"""Checks of everything that comes out of a sandbox, and of what goes in."""
