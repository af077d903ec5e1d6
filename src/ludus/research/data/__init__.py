"""Data of tasks: prepared once, kept, and hidden from sandboxes where it must be."""
