"""The tests' own way to the container engines: images are made of packed file systems."""

from __future__ import annotations

import subprocess
from typing import Any
from urllib.parse import quote

from ludus.sandbox.backend import podman
from ludus.sandbox.backend.docker import request, socket_path

__all__ = ["ask", "load_image", "run", "unload_image"]


MADE: dict[str, list[str]] = {}
"""The ids of the images that podman has made, by name: one whose name was given away has none."""


def run(*words: str, data: bytes = b"") -> bytes:
    """Run podman."""
    argv = ["podman", *podman._runtime(), *words]
    return subprocess.run(argv, input=data, capture_output=True, check=True).stdout


def ask(method: str, target: str, content: object = None) -> Any:
    """Ask the Docker daemon."""
    return request(socket_path(), method, target, content)


def load_image(backend: str, data: bytes, image: str, changes: tuple[str, ...] = ()) -> None:
    """Make an image of a root file system, with lines of a Containerfile."""
    if backend == "podman":
        options = [f"--change={line}" for line in changes]
        made = run("import", "--quiet", *options, "-", image, data=data).decode().split()[-1]
        MADE.setdefault(image, []).append(made)
        return
    repo, tag = image.rsplit(":", 1)
    # podman's import does not know this one.
    more = ("HEALTHCHECK CMD /bin/cat /etc/whose",) if changes else ()
    lines = "".join(f"&changes={quote(line)}" for line in (*changes, *more))
    ask("POST", f"/images/create?fromSrc=-&repo={quote(repo)}&tag={tag}{lines}", data)


def unload_image(backend: str, image: str) -> None:
    """Remove an image, and those that had its name before."""
    if backend == "podman":
        run("rmi", "--force", image, *MADE.pop(image, ()))
    else:
        ask("DELETE", f"/images/{image}?force=1")
