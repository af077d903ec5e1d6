"""The data: Fashion-MNIST; the official test pictures are the test split, shuffled by the seed."""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ludus.research.data.sources import Download, Source

FILES = {
    "train-images-idx3": "08dc20ab1689590a0bcd66e874647b6ee8464e2d501b5a3f1f78831db19a3fdc",
    "train-labels-idx1": "b0197879cbda89f3dc7b894f9fd52b858e68ea4182b6947c9d8c2b67e5f18dcc",
    "t10k-images-idx3": "78dcbbfb5a27efaf1b6c1d616caca68560be8766c5bffcb2791df9273a534229",
    "t10k-labels-idx1": "42bd18137a62d5998cdeae52bf3a0676ac6b706f5cf8439b47bb5b151ae3dccf",
}
"""The beginnings of the files' names, and their SHA-256."""
ORIGIN = "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com"

SOURCE = Source(
    name="Fashion-MNIST",
    variable="LUDUS_DATA_FASHION_MNIST",
    files=", ".join(f"{name}-ubyte.gz" for name in FILES),
    origin="Debian (apt-get install dataset-fashion-mnist, which is found by itself) or "
    "https://github.com/zalandoresearch/fashion-mnist",
    layouts=([f"**/{name}-ubyte.gz" for name in FILES],),
    places=("/usr/share/datasets/fashion-mnist",),
    downloads=tuple(
        Download(f"{ORIGIN}/{name}-ubyte.gz", f"{name}-ubyte.gz", digest)
        for name, digest in FILES.items()
    ),
    rows={"train": 60_000, "t10k": 10_000},
)
_Array = NDArray[np.uint8]


def build(folder: Path, seed: int) -> None:
    """Write the workspace's files, and the labels beside it.

    Raises:
        DataMissing: The files of Fashion-MNIST are not here.
    """
    images, labels, test_images, test_labels = (_read_idx(file) for file, *_ in SOURCE.find())
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


def count_rows() -> dict[str, int]:
    """Return the number of labelled pictures of each part."""
    images, labels, test_images, test_labels = (_read_idx(file) for file, *_ in SOURCE.find())
    return {
        "train": min(len(images), len(labels)),
        "t10k": min(len(test_images), len(test_labels)),
    }


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
