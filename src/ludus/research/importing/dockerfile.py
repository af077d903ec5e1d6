"""What a Dockerfile puts into an image, as far as it is known without building it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

__all__ = ["Image", "read_dockerfile"]


@dataclass(frozen=True, slots=True)
class Image:
    """The parts of an image that can be taken over.

    Attributes:
        workdir: The last ``WORKDIR``; empty if there is none.
        files: Copied files by path below the working folder.
        left_out: Instructions that were not carried out.
    """

    workdir: str
    files: dict[str, bytes]
    left_out: tuple[str, ...]


def read_dockerfile(context: Mapping[str, bytes]) -> Image:
    """Read ``Dockerfile`` of a build context; without one, all files are copied."""
    text = context.get("Dockerfile", b"").decode("utf-8", "replace")
    files = {name: data for name, data in context.items() if name != "Dockerfile"}
    if not text:
        return Image("", files, ())
    lines = re.sub(r"\\\n", " ", text).splitlines()
    parsed = [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]
    workdirs = [line.split(None, 1)[1] for line in parsed if re.match(r"WORKDIR\s+\S", line)]
    workdir = workdirs[-1].strip() if workdirs else ""
    made: dict[str, bytes] = {}
    left_out: list[str] = []
    for line in parsed:
        word = line.split(None, 1)[0].upper()
        if word == "WORKDIR":
            continue
        copied = _copied(line, files, workdir or "/") if word in ("COPY", "ADD") else None
        if copied is None:
            left_out.append(line)
        else:
            made |= copied
    return Image(workdir, made, tuple(left_out))


def _copied(line: str, files: Mapping[str, bytes], workdir: str) -> dict[str, bytes] | None:
    """Return what a COPY puts below the working folder; ``None`` if that is not known."""
    try:
        words = shlex.split(line)[1:]
    except ValueError:
        return None
    if len(words) < 2 or any(word.startswith(("--", "[")) or "*" in word for word in words):
        return None
    *sources, target = words
    place = PurePosixPath(workdir, target)
    if ".." in place.parts or not place.is_relative_to(workdir):
        return None
    below = place.relative_to(workdir)
    made: dict[str, bytes] = {}
    for source in sources:
        name = PurePosixPath(source.lstrip("/") or ".").as_posix()
        prefix = "" if name == "." else f"{name}/"
        inside = {path: data for path, data in files.items() if path.startswith(prefix)}
        if name in files:
            is_workdir = below == PurePosixPath()
            as_folder = is_workdir or target.endswith(("/", ".")) or len(sources) > 1
            path = below / PurePosixPath(name).name if as_folder else below
            made[path.as_posix()] = files[name]
        elif inside:
            made |= {(below / path[len(prefix) :]).as_posix(): d for path, d in inside.items()}
        else:
            return None
    return made
