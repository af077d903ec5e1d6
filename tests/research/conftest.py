from __future__ import annotations

from collections.abc import Iterator

import pytest

from ludus.research.grading.draws import VARIABLE


@pytest.fixture(autouse=True, scope="session")
def public_draws() -> Iterator[None]:
    """Let graders draw from seeds alone, so that scores are those that were recorded."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, "public")
        yield
