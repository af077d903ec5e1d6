"""``ludus view --page``: the address of the page to begin with."""

from __future__ import annotations

import re
import subprocess
import sys
import urllib.request

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from ludus.view import ViewSettings
from ludus.view.serving import address


def test_the_address_of_a_page_has_the_token():
    settings = ViewSettings(token="t" * 16)
    assert address(settings, "/runs") == f"http://127.0.0.1:8760/runs?token={'t' * 16}"
    assert address(settings, "/r?step=3").endswith(f"/r?step=3&token={'t' * 16}")


@pytest.mark.parametrize("page", ["runs", "/runs", "//runs"])
def test_the_viewer_tells_the_address_of_the_page(tmp_path, page):
    command = [sys.executable, "-m", "ludus", "view", str(tmp_path), "--port", "0", "--no-open"]
    viewer = subprocess.Popen([*command, "--page", page], stdout=subprocess.PIPE, text=True)
    try:
        line = viewer.stdout.readline()
        (found,) = re.findall(r"http://127\.0\.0\.1:\d+/\S*", line)
        assert found.endswith("/runs")
        with urllib.request.urlopen(found, timeout=60) as answer:
            assert answer.status == 200
            assert answer.url == found
    finally:
        viewer.terminate()
        viewer.communicate(timeout=60)
