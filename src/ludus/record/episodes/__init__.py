"""Wrappers that record the episodes of environments into a run folder."""
