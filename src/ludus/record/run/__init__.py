"""Writing, reading, checking, repairing and signing a run folder."""
