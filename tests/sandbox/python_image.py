"""A root file system with bash, this Python and NumPy, made of this machine's own files."""

from __future__ import annotations

import importlib.util
import io
import shutil
import sys
import tarfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from tests.sandbox.containers_suite import libraries

PROGRAMS = ("bash", "sh", "cat", "env", "grep", "id", "ls", "mkdir", "rm", "sleep", "touch")
LEFT_OUT = {"__pycache__", "ensurepip", "idlelib", "lib2to3", "pydoc_data", "site-packages"}
LEFT_OUT |= {"test", "tests", "tkinter", "turtledemo"}
VERSION = f"python{sys.version_info.major}.{sys.version_info.minor}"
SITE = f"usr/local/lib/{VERSION}/site-packages"


@cache
def python_tar() -> bytes:
    """Return the file system, packed."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        needed: dict[str, str] = {}
        for name in PROGRAMS:
            program = shutil.which(name)
            assert program is not None, name
            add(archive, Path(program).resolve(), f"bin/{name}")
            needed |= {path.lstrip("/"): path for path in libraries(program)}
        python = Path(sys.base_prefix, "bin", VERSION).resolve()
        standard = Path(sys.base_prefix, "lib", VERSION)
        numpy = Path(importlib.util.find_spec("numpy").submodule_search_locations[0])
        add(archive, python, "usr/local/bin/python3")
        for folder, place in (
            (standard, f"usr/local/lib/{VERSION}"),
            (numpy, f"{SITE}/numpy"),
            (numpy.with_name("numpy.libs"), f"{SITE}/numpy.libs"),
        ):
            for path in sorted(folder.rglob("*")):
                inside = path.relative_to(folder)
                if path.is_file() and path.suffix != ".a" and not {*inside.parts} & LEFT_OUT:
                    add(archive, path, f"{place}/{inside}")
        for program in (python, *standard.glob("lib-dynload/*.so"), *numpy.glob("_core/*.so")):
            found = (path for path in libraries(str(program)) if "site-packages" not in path)
            needed |= {path.lstrip("/"): path for path in found}
        for name, path in needed.items():
            add(archive, Path(path).resolve(), name)
    return made.getvalue()


def with_files(files: Mapping[str, str | bytes], base: bytes | None = None) -> bytes:
    """Return a packed file system with more files; those of Python by default."""
    made = io.BytesIO(python_tar() if base is None else base)
    with tarfile.open(fileobj=made, mode="a") as archive:
        for name, text in files.items():
            data = text.encode() if isinstance(text, str) else text
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), 0o755
            archive.addfile(entry, io.BytesIO(data))
    return made.getvalue()


def add(archive: tarfile.TarFile, path: Path, name: str) -> None:
    entry = tarfile.TarInfo(name)
    data = path.read_bytes()
    entry.size, entry.mode = len(data), path.stat().st_mode & 0o777 | 0o444
    archive.addfile(entry, io.BytesIO(data))
