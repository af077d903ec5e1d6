"""Frames and states of recordings, from worker processes with limits."""
