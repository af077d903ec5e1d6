"""Plain data as bytes, and values from outside checked before anyone uses them.

``encode`` and ``decode`` turn numbers, texts, lists, tuples, dicts and NumPy arrays into
MessagePack and back; what is decoded may come from an enemy. ``digest`` names a value by its
content. ``admit`` checks a value against a space, ``admit_info`` an info dict.
"""

from __future__ import annotations

from ludus.codec.admission import INFO_LIMITS, admit, admit_info
from ludus.codec.decoding import decode
from ludus.codec.encoding import digest, encode
from ludus.codec.limits import DecodeLimits, Limits

__all__ = [  # noqa: RUF022 - in plain order, as the test of public names expects
    "DecodeLimits",
    "INFO_LIMITS",
    "Limits",
    "admit",
    "admit_info",
    "decode",
    "digest",
    "encode",
]
