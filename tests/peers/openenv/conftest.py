"""A server in a process of its own, as its users start it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).parent
IDS = (
    "CartPole-v1",
    "FrozenLake-v1",
    "peer_envs:peer/Counting-v0",
    "CarRacing-v3",
    "research/battleOfSexes",
)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server of all ids."""
    out = tmp_path_factory.mktemp("served")
    paths = os.pathsep.join([str(HERE / "packages"), os.environ.get("PYTHONPATH", "")])
    order = [sys.executable, "-m", "ludus", "serve", *IDS, "--port", "0", "--out", str(out)]
    child = subprocess.Popen(
        order, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": paths}
    )
    try:
        assert child.stdout is not None
        found = re.search(r"http://\S+", child.stdout.readline())
        assert found, "the server did not start"
        yield found[0]
    finally:
        child.terminate()
        assert child.wait(60) == 0
