"""Names of container images: what an engine may be asked for, and nothing that it could misread."""

from __future__ import annotations

import re

__all__ = ["check_image_name"]

_LONGEST = 300
_HOST = r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::[0-9]{1,5})?"
_PART = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_DIGEST = r"sha256:[0-9a-f]{64}"
_IMAGE = re.compile(
    rf"(?:{_DIGEST}|(?!sha256:)(?:{_HOST}/)?{_PART}(?:/{_PART})*"
    rf"(?::[A-Za-z0-9_][A-Za-z0-9_.-]{{0,127}})?(?:@{_DIGEST})?)",
    re.ASCII,
)


def check_image_name(name: str) -> str:
    """Return the name of an image: ``name:tag``, ``name@sha256:…``, or ``sha256:…``, its id.

    Raises:
        ValueError: it is none. Options, paths and other places that engines read images from are
            refused.
    """
    if not isinstance(name, str) or len(name) > _LONGEST or not _IMAGE.fullmatch(name):
        raise ValueError(
            f"image is {name!r:.330}; expected the name of an image such as 'lab/tasks:1', "
            "'lab/tasks@sha256:…' with 64 hexadecimal digits, or 'sha256:…', its id."
        )
    return name
