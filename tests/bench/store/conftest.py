from __future__ import annotations

import pytest

from tests.bench.store.postgres import running_server


@pytest.fixture(scope="session")
def postgres():
    with running_server() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    """The address of an empty place, in a file and on a server."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'results.sqlite'}"
    return request.getfixturevalue("postgres").new_place()
