"""The baseline: the starter code as it is."""

from __future__ import annotations

from train import main

main()
