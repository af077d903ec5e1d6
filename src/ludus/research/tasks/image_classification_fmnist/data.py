"""The data: Fashion-MNIST; the official test pictures are the test split, shuffled by the seed."""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ludus.errors import DataMissing
from ludus.research.data.sources import given_folders

VARIABLE = "LUDUS_DATA_FASHION_MNIST"
SOURCE = "/usr/share/datasets/fashion-mnist"
FILES = ("train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1")
_Array = NDArray[np.uint8]


def build(folder: Path, seed: int) -> None:
    """Write the workspace's files, and the labels beside it.

    Raises:
        DataMissing: The files of Fashion-MNIST are not here.
    """
    source = _source()
    images, labels, test_images, test_labels = (_read_idx(source / name) for name in _names())
    rng = np.random.default_rng(seed)
    order, test = _shuffled(images, rng), _shuffled(test_images, rng)
    train, held_out = order[: -len(test)], order[-len(test) :]
    workspace = folder / "workspace"
    np.savez_compressed(workspace / "train.npz", images=images[train], labels=labels[train])
    _write_graded(folder, "validation", images[held_out], labels[held_out])
    _write_graded(folder, "test", test_images[test], test_labels[test])


def _shuffled(images: _Array, rng: np.random.Generator) -> NDArray[np.intp]:
    """Return the places of pictures in a random order.

    The labels in the official order are known to many. So that nobody who knows the seed finds it
    again, what is shuffled has an order that follows from the pictures, which everybody sees.
    """
    digests = [hashlib.sha256(image.tobytes()).digest() for image in images]
    return rng.permutation(np.array(sorted(range(len(digests)), key=digests.__getitem__)))


def _write_graded(folder: Path, split: str, images: _Array, labels: _Array) -> None:
    np.savez_compressed(folder / "workspace" / f"{split}.npz", images=images)
    lines = [f"{number},{label}\n" for number, label in enumerate(labels.tolist())]
    (folder / split / "labels.csv").write_text("".join(["id,label\n", *lines]), "utf-8")


def _names() -> list[str]:
    return [f"{name}-ubyte.gz" for name in FILES]


def _source() -> Path:
    """Return the folder of the files."""
    folder = given_folders().get(VARIABLE, Path(SOURCE))
    missing = [name for name in _names() if not (folder / name).is_file()]
    if missing:
        raise DataMissing(
            f"Fashion-MNIST is not here: {folder} has no {missing[0]}. On Debian: apt-get install "
            f"dataset-fashion-mnist. Elsewhere put the four files {', '.join(_names())} into a "
            f"folder and set {VARIABLE} to it."
        )
    return folder


def _read_idx(path: Path) -> _Array:
    """Return the array in an IDX file of bytes: its number of dimensions, their sizes, the bytes.

    Raises:
        ValueError: It is no such file.
    """
    with gzip.open(path) as file:
        data = file.read()
    # Two zeros, 8 for bytes, and how many dimensions there are.
    if data[:3] != b"\0\0\x08":
        raise ValueError(f"{path} is no IDX file of bytes; it begins with {data[:4]!r}.")
    begin = 4 + 4 * data[3]
    shape = np.frombuffer(data[4:begin], ">u4")
    return np.frombuffer(data, np.uint8, offset=begin).reshape(shape)
