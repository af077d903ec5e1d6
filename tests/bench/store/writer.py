"""A process that adds results: ``python -m tests.bench.store.writer URL FIRST COUNT BATCH``.

It prints a line after each batch that is stored.
"""

from __future__ import annotations

import sys

from ludus.bench.store import open_store
from tests.bench.store.support import make_many


def main(url: str, first: int, count: int, batch: int) -> None:
    with open_store(url) as store:
        for start in range(first, first + count, batch):
            stop = min(start + batch, first + count)
            print(store.add(make_many(range(start, stop))), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
