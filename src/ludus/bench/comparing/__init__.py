"""Comparing agents, and refusing comparisons that would mislead."""
