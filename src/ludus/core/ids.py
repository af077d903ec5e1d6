"""Environment ids: ``[namespace/]name[-vN]``."""

from __future__ import annotations

import re
from functools import lru_cache

from ludus.errors import Error

__all__ = ["get_env_id", "parse_env_id"]

ENV_ID_RE = re.compile(
    r"(?:(?P<namespace>[\w:-]+)/)?(?P<name>[\w:.-]+?)(?:-v(?P<version>\d+))?", re.ASCII
)


@lru_cache(maxsize=4096)
def parse_env_id(env_id: str) -> tuple[str | None, str, int | None]:
    """Split an id into namespace, name and version; absent parts are ``None``.

    Raises:
        Error: The id does not have the form above.
    """
    match = ENV_ID_RE.fullmatch(env_id)
    if match is None:
        raise Error(
            f"Malformed environment ID: {env_id!r}. Expected [namespace/]name[-vN], for example "
            "'CartPole-v1' or 'my_package/Maze-v0': letters, digits and _ - . : only, and at "
            "most one '/'."
        )
    namespace, name, version = match.group("namespace", "name", "version")
    return namespace, name, None if version is None else int(version)


def get_env_id(ns: str | None, name: str, version: int | None) -> str:
    """Join the parts of an id; the inverse of :func:`parse_env_id`."""
    prefix = "" if ns is None else f"{ns}/"
    suffix = "" if version is None else f"-v{version}"
    return f"{prefix}{name}{suffix}"
