"""What schemathesis makes up from the OpenAPI description of a server."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ludus.serve import Served
from tests.serve.running import running


@pytest.mark.parametrize("name", ["CartPole-v1", "Blackjack-v1"])
def test_answers_are_those_that_the_description_promises(name: str, tmp_path: Path) -> None:
    with running([Served.of(name)]) as server:
        done = subprocess.run(
            [
                *(str(Path(sys.executable).parent / "schemathesis"), "run"),
                *(f"{server.url}/openapi.json", "--max-examples", "25", "--seed", "1"),
                *("--phases", "coverage,fuzzing"),
            ],
            capture_output=True,
            text=True,
            timeout=240,
            cwd=tmp_path,
            check=False,
        )
        assert done.returncode == 0, done.stdout
        assert "0 selected" not in done.stdout
        assert server.ask("GET", "/health")[0] == 200
        assert not [status for status in server.service.metrics.requests if status >= 500]
