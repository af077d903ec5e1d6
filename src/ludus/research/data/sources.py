"""Datasets that come with no package: where they are, and what to say otherwise.

They are searched in the folder that a variable such as ``LUDUS_DATA_CIFAR10`` names; without one in
the folder into which ``ludus task fetch`` has put them, in folders of the system, and in the cache
of Hugging Face's tools. Nothing is downloaded here.
"""

from __future__ import annotations

import gzip
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludus.errors import DataMissing, DependencyNotInstalled
from ludus.optional import require
from ludus.research.data.cache import cache_folder
from ludus.research.data.downloads import Download

__all__ = [
    "FETCHED",
    "PREFIX",
    "Download",
    "Source",
    "data_variable",
    "fetched_root",
    "given_folder",
    "given_folders",
    "hub_cache",
    "read_image",
    "read_rows",
]

PREFIX = "LUDUS_DATA_"
"""How the names of variables begin that name a folder of data."""
FETCHED = "fetched.json"
"""What is written beside fetched data: where it is from, its digests and its rows."""
_BATCH = 1024
_LONGEST_LINE = 1 << 26


def given_folders() -> dict[str, Path]:
    """Return the folders of data that the user names, by the variables' names."""
    found = sorted((name, value) for name, value in os.environ.items() if name.startswith(PREFIX))
    return {name: Path(value).expanduser().absolute() for name, value in found if value}


def data_variable(id: str) -> str:
    """Return the variable that names the folder with the data of an imported task."""
    return PREFIX + re.sub(r"\W", "_", id).upper()


def given_folder(id: str) -> Path | None:
    """Return the folder that the user names for the data of an imported task."""
    folders = {name.upper(): place for name, place in given_folders().items()}
    return folders.get(data_variable(id))


def hub_cache() -> Path:
    """Return where Hugging Face's tools keep what they have fetched; it may not exist."""
    if given := os.environ.get("HF_HUB_CACHE"):
        return Path(given).expanduser()
    return Path(os.environ.get("HF_HOME") or "~/.cache/huggingface").expanduser() / "hub"


def fetched_root() -> Path:
    """Return the folder that holds all fetched datasets."""
    return cache_folder("datasets")


@dataclass(frozen=True, slots=True)
class Source:
    """A dataset that has to be fetched.

    A task's ``data.py`` has it as ``SOURCE``, so that ``ludus task fetch`` knows it. It may also
    have a function ``count_rows()``, which reads what ``SOURCE`` finds and returns the number of
    rows of each part.

    Attributes:
        name: Its usual name.
        variable: Names its folder.
        files: What must be in that folder, in words.
        origin: Where to get it.
        hub: Repositories of Hugging Face's hub with the same files.
        layouts: Lists of glob patterns that must all match in the same folder.
        places: Folders of the system where it may be.
        downloads: The files to fetch.
        rows: The number of rows of each part, in the whole dataset.
        folder: Searched instead of everything else.
    """

    name: str
    variable: str
    files: str
    origin: str
    hub: tuple[str, ...] = ()
    layouts: tuple[Sequence[str], ...] = ()
    places: tuple[str, ...] = ()
    downloads: tuple[Download, ...] = ()
    rows: Mapping[str, int] = field(default_factory=dict)
    folder: Path | None = None

    @property
    def fetched(self) -> Path:
        """The folder into which it is fetched; it may not exist."""
        return fetched_root() / self.variable.removeprefix(PREFIX).lower()

    def find(self, *wanted: Sequence[str]) -> list[list[Path]]:
        """Return the files of the first layout that exists, sorted, a list for each pattern.

        Args:
            wanted: Layouts instead of its own.

        Raises:
            DataMissing: There is none; the message says what to get and where to put it.
        """
        for folder in self._folders():
            for layout in wanted or self.layouts:
                found = [_matches(folder, pattern) for pattern in layout]
                if all(found):
                    return found
        raise self.missing()

    def missing(self, detail: str = "") -> DataMissing:
        """Return the error that says what is missing, where to get it and where to put it."""
        folder = given_folders().get(self.variable)
        said = f"it names {folder}" if folder else "it is not set"
        hub = ", ".join(f"datasets/{name}" for name in self.hub)
        return DataMissing(
            f"The data of {self.name} is missing{': ' + detail if detail else ''}. Get it from "
            f"{self.origin}, and set {self.variable} ({said}) to a folder with {self.files}."
            + (" 'ludus task fetch' does that." if self.downloads else "")
            + (f" A copy of {hub} in {hub_cache()} is found by itself." if hub else "")
        )

    def _folders(self) -> list[Path]:
        given = self.folder or given_folders().get(self.variable)
        if given is not None:
            # A folder that the user names is the only one searched.
            return [given]
        kept = [hub_cache() / f"datasets--{name.replace('/', '--')}" for name in self.hub]
        hub = [place for folder in kept for place in _matches(folder, "snapshots/*")]
        return [self.fetched, *map(Path, self.places), *hub]


def read_rows(file: Path, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield the rows of a ``.parquet``, ``.jsonl`` or ``.jsonl.gz`` file, with these columns only.

    Raises:
        DataMissing: No package reads parquet files, or the file is damaged or lacks the columns.
    """
    rows = _parquet_rows(file, columns) if file.suffix == ".parquet" else _json_rows(file)
    try:
        for row in rows:
            yield {name: row[name] for name in columns}
    except (ValueError, OSError, EOFError, TypeError) as problem:
        raise DataMissing(f"{file} is damaged: {problem}. Fetch it again.") from problem
    except KeyError as problem:
        raise DataMissing(f"{file} has no column {problem}; it is another dataset's.") from problem


def read_image(data: bytes, size: int, name: str) -> NDArray[np.uint8]:
    """Return an RGB picture of ``size`` times ``size`` pixels.

    Raises:
        DataMissing: No package decodes pictures, or this is none.
    """
    cv2 = _imported("cv2", "images")
    pixels = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR) if data else None
    if pixels is None:
        raise DataMissing(f"{name} is no picture, or a damaged one. Fetch it again.")
    if pixels.shape[:2] != (size, size):
        pixels = cv2.resize(pixels, (size, size), interpolation=cv2.INTER_AREA)
    return np.ascontiguousarray(pixels[:, :, ::-1], np.uint8)


def _matches(folder: Path, pattern: str) -> list[Path]:
    return sorted(folder.glob(pattern))


def _parquet_rows(file: Path, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
    parquet = _imported("pyarrow.parquet", "parquet")
    with parquet.ParquetFile(file) as opened:
        known = [name for name in columns if name in opened.schema_arrow.names]
        for batch in opened.iter_batches(batch_size=_BATCH, columns=known):
            yield from batch.to_pylist()


def _json_rows(file: Path) -> Iterator[dict[str, Any]]:
    opener = gzip.open if file.suffix == ".gz" else open
    with opener(file, "rt", encoding="utf-8") as lines:
        while line := lines.readline(_LONGEST_LINE + 1):
            if len(line) > _LONGEST_LINE:
                raise ValueError(f"a line has more than {_LONGEST_LINE:,} characters")
            if line.strip():
                yield json.loads(line)


def _imported(module: str, extra: str) -> Any:
    try:
        return require(module, extra=extra)
    except DependencyNotInstalled as problem:
        raise DataMissing(f"The data is there, but it cannot be read: {problem}") from problem
