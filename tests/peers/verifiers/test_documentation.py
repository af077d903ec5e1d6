"""The documentation's code runs where the package is installed."""

from __future__ import annotations

from tests.peers.pages import run_page


def test_the_page(tmp_path):
    run_page("training_services.md", tmp_path)
