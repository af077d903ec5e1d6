"""Verifying results: claims, statements, and what a result counts as."""
