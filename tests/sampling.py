"""Which cases of a large matrix `make test` runs; `make test-all` runs every one.

A case that is left out is not generated, so it is not reported as skipped either. The choice
depends on nothing but the names of the cases: every worker, machine and day makes the same one.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterable
from typing import Any

ALL = os.environ.get("LUDUS_TEST_ALL") == "1"
"""Whether every case runs, at full length."""


OPTIONAL = None if ALL else "is used with LUDUS_TEST_ALL=1"
"""Why a test leaves alone what the Makefile calls optional, so that it does the same everywhere."""


def name_of(case: Any) -> str:
    """Return the id of a ``pytest.param``, and the text of anything else."""
    return str(getattr(case, "id", None) or case)


def sampled(
    values: Iterable[Any],
    keep: int,
    *,
    by: Callable[[Any], Any] | None = None,
    name: Callable[[Any], str] = name_of,
    everything: bool = ALL,
) -> list[Any]:
    """Return ``keep`` of the values in their order, or all of them if ``LUDUS_TEST_ALL=1``.

    Args:
        values: The cases to choose from.
        keep: How many to return. More are returned if there are more kinds.
        by: Returns the kind of a case. At least one case of each kind is returned.
        name: Returns a name of a case that is the same in every process; its CRC decides.
        everything: Return all values.

    Raises:
        ValueError: If ``keep`` is less than one, or a name contains an address in memory.
    """
    cases = list(values)
    if keep < 1:
        raise ValueError(f"keep is {keep}; expected at least 1.")
    names = [name(case) for case in cases]
    if unstable := [text for text in names if " at 0x" in text]:
        raise ValueError(f"{unstable[0]} is another name in every process; give name=.")
    if everything:
        return cases
    order = sorted(range(len(cases)), key=lambda i: (zlib.crc32(names[i].encode()), i))
    first: dict[Any, int] = {}
    for index in order:
        first.setdefault(by(cases[index]) if by else None, index)
    chosen = set(first.values())
    for index in order:
        if len(chosen) >= keep:
            break
        chosen.add(index)
    return [case for index, case in enumerate(cases) if index in chosen]
