"""Encoding of plain data as bytes, and validation of values from untrusted sources.

``encode`` and ``decode`` convert numbers, texts, lists, tuples, dicts and NumPy arrays to
MessagePack and back; ``decode`` accepts untrusted bytes. ``digest`` returns the hash of a value.
``admit`` validates a value against a space, ``admit_info`` an info dict.

Example:
    >>> decode(encode({"position": np.array([1, 2]), "name": "a"}))
    {'position': array([1, 2]), 'name': 'a'}
    >>> admit(ludus.spaces.Discrete(3), 5, name="action")
    Traceback (most recent call last):
    ludus.errors.Inadmissible: action is not admitted: 5 is not within 0 and 2.
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
