"""Tests against other packages, each in a virtual environment of its own: ``make test-interop``."""
