"""Images of container engines: what one is, and what is not taken over from it.

An image is the root of a sandbox and nothing more. Its entry point, user, variables, volumes and
health check are those of whoever made it, and none of them has an effect: the engine is told
otherwise, and commands are started by the launcher with variables of their own. Only its ``PATH``
is taken over, in which commands of the sandbox are looked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from ludus.errors import ImageMissing

__all__ = ["Image", "image_missing"]

_LONGEST_PATH = 4096


@dataclass(frozen=True, slots=True)
class Image:
    """An image of an engine.

    Attributes:
        name: as it was asked for.
        digest: the engine's id of it, ``sha256:…`` over its layers and settings.
        sources: the names with digests by which registries have it; none for one that was built
            here.
        volumes: folders for which the engine would make writable folders of the host.
        variables: names of the variables that it sets.
        path: folders of programs, as it would have them on ``PATH``.
    """

    name: str
    digest: str
    sources: tuple[str, ...] = ()
    volumes: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    path: str = ""

    @classmethod
    def of(cls, name: str, told: Mapping[str, Any]) -> Image:
        """Return what an engine's ``inspect`` tells, as Docker and podman do."""
        config = told.get("Config") or {}
        lines = (str(line) for line in config.get("Env") or ())
        given = dict(line.split("=", 1) for line in lines if "=" in line)
        volumes = (PurePosixPath("/", path) for path in config.get("Volumes") or ())
        return cls(
            name,
            f"sha256:{str(told['Id']).removeprefix('sha256:')}",
            tuple(sorted(map(str, told.get("RepoDigests") or ()))),
            tuple(str(path) for path in volumes if ".." not in path.parts),
            tuple(given),
            _path(given.get("PATH", "")),
        )


def _path(text: str) -> str:
    """Return the folders of a ``PATH`` that are absolute."""
    folders = (folder for folder in text[:_LONGEST_PATH].split(":") if folder.startswith("/"))
    return ":".join(folder for folder in folders if folder.isprintable())


def image_missing(name: str, program: str) -> ImageMissing:
    """Return the error for an image that is not here, with the command that gets it."""
    if name.startswith("sha256:"):
        advice = f"Load it (`{program} load --input FILE`), or name one that is here"
    else:
        build = f"`{program} build --tag {name.partition('@')[0]} FOLDER`"
        pull = f"Get it from a registry that has it: `{program} pull {name}`. Or build it: {build}"
        advice = f"Build it: {build}" if name.startswith("localhost/") else pull
    return ImageMissing(
        f"The image {name} is not on this machine, and nothing is downloaded to open a sandbox. "
        f"{advice}."
    )
