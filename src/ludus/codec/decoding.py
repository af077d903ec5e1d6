"""Decodes untrusted bytes into plain data.

MessagePack's own library allocates as many entries as a header claims, at every level of nesting,
and lets later keys replace earlier ones. This reader checks each claimed length against the
remaining bytes, and keeps nested containers on a list instead of recursing.
"""

from __future__ import annotations

import struct
from struct import Struct
from typing import Any, NoReturn

from ludus.codec.arrays import read_array, read_scalar
from ludus.codec.limits import DEFAULT_LIMITS, DecodeLimits
from ludus.codec.wire import ARRAY, BIG_INT, TUPLE_MARK, ext_header
from ludus.errors import CodecError

__all__ = ["decode"]

_CONSTANTS = {0xC0: None, 0xC2: False, 0xC3: True}
_INTEGERS = {
    # header: format, smallest and largest number without a shorter format
    0xCC: (Struct(">B"), 2**7, 2**8 - 1),
    0xCD: (Struct(">H"), 2**8, 2**16 - 1),
    0xCE: (Struct(">I"), 2**16, 2**32 - 1),
    0xCF: (Struct(">Q"), 2**32, 2**64 - 1),
    0xD0: (Struct(">b"), -(2**7), -(2**5) - 1),
    0xD1: (Struct(">h"), -(2**15), -(2**7) - 1),
    0xD2: (Struct(">i"), -(2**31), -(2**15) - 1),
    0xD3: (Struct(">q"), -(2**63), -(2**31) - 1),
}
_LENGTHS = {
    # header: format of the length, smallest length without a shorter header
    0xC4: (Struct(">B"), 0),
    0xC5: (Struct(">H"), 2**8),
    0xC6: (Struct(">I"), 2**16),
    0xD9: (Struct(">B"), 2**5),
    0xDA: (Struct(">H"), 2**8),
    0xDB: (Struct(">I"), 2**16),
    0xDC: (Struct(">H"), 2**4),
    0xDD: (Struct(">I"), 2**16),
    0xDE: (Struct(">H"), 2**4),
    0xDF: (Struct(">I"), 2**16),
}
_FIXED_EXT = {0xD4: 1, 0xD5: 2, 0xD6: 4, 0xD7: 8, 0xD8: 16}
_SIZED_EXT = {0xC7: Struct(">B"), 0xC8: Struct(">H"), 0xC9: Struct(">I")}
_DOUBLE = Struct(">d").unpack_from


def decode(data: bytes | bytearray | memoryview, limits: DecodeLimits = DEFAULT_LIMITS) -> Any:
    """Return the value that ``encode`` wrote; the bytes may be untrusted.

    Arrays are copies, writable and aligned. Nothing is imported, unpickled or evaluated, and memory
    and time are proportional to the number of bytes.

    Raises:
        CodecError: The bytes are not exactly one encoded value, or exceed the limits; ``position``
            tells where.
        TypeError: ``data`` is not a bytes-like object.
    """
    size = len(data) if type(data) is bytes else memoryview(data).nbytes
    if size > limits.total_bytes:
        raise CodecError(
            f"Cannot decode {size} bytes: at most {limits.total_bytes} are allowed.",
            position=limits.total_bytes,
        )
    # Copies mutable memory, which could change after it has been checked.
    return _Reader(bytes(data), limits).read()


class _Reader:
    """Decodes one value."""

    __slots__ = ("_data", "_int_keys", "_items", "_limits", "_start")

    def __init__(self, data: bytes, limits: DecodeLimits) -> None:
        self._data = data
        self._limits = limits
        self._items = limits.items
        self._int_keys = limits.int_keys
        self._start = 0  # of the item being read, for errors

    def read(self) -> Any:
        """Return the value."""
        try:
            return self._read()
        except (IndexError, struct.error):
            self._fail("the data ends in the middle of a value", len(self._data))
        except UnicodeDecodeError as problem:
            self._fail(f"a text is not valid UTF-8: {problem.reason}")

    def _fail(self, reason: str, position: int | None = None) -> NoReturn:
        position = self._start if position is None else position
        raise CodecError(f"Cannot decode at byte {position}: {reason}.", position=position)

    def _read(self) -> Any:
        data, size, position = self._data, len(self._data), 0
        constants, longest_key = _CONSTANTS, 0xA0 + min(31, self._limits.key_bytes)
        container: Any = []
        left, mapping, as_tuple = 1, False, False
        key: str | int | None = None
        outer: list[tuple[Any, int, bool, bool, Any]] = []
        while True:
            while left:
                left -= 1
                self._start = position
                head = data[position]
                if mapping:
                    end = position + head - 0x9F
                    if 0xA0 <= head <= longest_key and end <= size:
                        key = data[position + 1 : end].decode()
                        position = end
                    else:
                        key, position = self._key(head, position + 1)
                    if key in container:
                        self._fail(f"the key {key!r:.60} occurs twice in a dict")
                    self._start = position
                    head = data[position]
                position += 1
                if head < 0x80:
                    item: Any = head
                elif head in constants:
                    item = constants[head]
                elif head == 0xCB:
                    item = _DOUBLE(data, position)[0]
                    position += 8
                elif head < 0xA0 or 0xDC <= head < 0xE0:
                    outer.append((container, left, mapping, as_tuple, key))
                    left, position, mapping, as_tuple = self._open(head, position, len(outer))
                    container = {} if mapping else []
                    continue
                else:
                    item, position = self._other(head, position)
                if mapping:
                    container[key] = item
                else:
                    container.append(item)
            if not outer:
                break
            item = tuple(container) if as_tuple else container
            container, left, mapping, as_tuple, key = outer.pop()
            if mapping:
                container[key] = item
            else:
                container.append(item)
        if position != size:
            self._fail(f"{size - position} bytes follow after the value", position)
        return container[0]

    def _open(self, head: int, position: int, depth: int) -> tuple[int, int, bool, bool]:
        """Read a container's header: number of entries, end, whether a dict, whether a tuple."""
        if depth > self._limits.depth:
            self._fail(f"values are nested deeper than {self._limits.depth} levels")
        mapping = head < 0x90 or head >= 0xDE
        if head < 0xA0:
            count = head & 15
        else:
            count, position = self._length(head, position)
        as_tuple = not mapping and self._data.startswith(TUPLE_MARK, position)
        if as_tuple:
            if not count:
                self._fail("the mark of a tuple is outside of its list", position)
            count -= 1
            position += len(TUPLE_MARK)
        # Every entry has at least one byte, in a dict two.
        if count * (1 + mapping) > len(self._data) - position:
            self._fail(f"a header claims {count} entries, more than the data can hold")
        self._items -= count
        if self._items < 0:
            self._fail(f"there are more than {self._limits.items} entries")
        return count, position, mapping, as_tuple

    def _key(self, head: int, position: int) -> tuple[str | int, int]:
        limits = self._limits
        if 0xA0 <= head < 0xC0 or 0xD9 <= head < 0xDC:
            return self._text(head, position, limits.key_bytes)
        if not (head < 0x80 or head >= 0xE0 or head in _INTEGERS):
            self._fail("a key of a dict is neither a text nor an integer of 64 bits")
        self._int_keys -= 1
        if self._int_keys < 0:
            self._fail(f"there are more than {limits.int_keys} integer keys")
        return (head, position) if head < 0x80 else self._other(head, position)

    def _text(self, head: int, position: int, limit: int) -> tuple[str, int]:
        raw, end = self._raw(head, position, limit)
        return raw.decode(), end

    def _raw(self, head: int, position: int, limit: int) -> tuple[bytes, int]:
        if head < 0xC0:
            length = head & 31
        else:
            length, position = self._length(head, position)
        if length > limit:
            self._fail(f"a text or bytes object has {length} bytes; at most {limit} are allowed")
        end = position + length
        if end > len(self._data):
            raise IndexError
        return self._data[position:end], end

    def _length(self, head: int, position: int) -> tuple[int, int]:
        form, smallest = _LENGTHS[head]
        length = form.unpack_from(self._data, position)[0]
        if length < smallest:
            self._fail(f"a length of {length} is not in its shortest form")
        return length, position + form.size

    def _other(self, head: int, position: int) -> tuple[Any, int]:
        """Read a value that is neither a container nor handled in :meth:`_read`."""
        if head >= 0xE0:
            return head - 256, position
        if head < 0xC0 or 0xD9 <= head < 0xDC:
            return self._text(head, position, self._limits.string_bytes)
        if head in _INTEGERS:
            form, low, high = _INTEGERS[head]
            number = form.unpack_from(self._data, position)[0]
            if not low <= number <= high:
                self._fail(f"the integer {number} is not in its shortest form")
            return number, position + form.size
        if 0xC4 <= head < 0xC7:
            return self._raw(head, position, self._limits.string_bytes)
        if head not in _FIXED_EXT and head not in _SIZED_EXT:
            self._fail(f"0x{head:02x} does not begin a value")
        return self._extension(head, position)

    def _extension(self, head: int, position: int) -> tuple[Any, int]:
        data = self._data
        length = _FIXED_EXT.get(head)
        if length is None:
            form = _SIZED_EXT[head]
            length = int(form.unpack_from(data, position)[0])
            position += form.size
        code = data[position]
        position += 1
        end = position + length
        if end > len(data):
            raise IndexError
        if head in _SIZED_EXT and ext_header(length, code) != data[self._start : position]:
            self._fail(f"an extension of {length} bytes does not have its shortest header")
        try:
            if code == ARRAY:
                return read_array(data, position, length, self._limits), end
            if code == BIG_INT:
                return self._big_int(data[position:end]), end
            return read_scalar(code, data, position, length), end
        except ValueError as problem:
            if isinstance(problem, CodecError):
                raise
            self._fail(str(problem))

    def _big_int(self, content: bytes) -> int:
        limit = self._limits.integer_bytes
        if len(content) > limit:
            self._fail(f"an integer has {len(content)} bytes; at most {limit} are allowed")
        number = int.from_bytes(content, "big", signed=True)
        shortest = ((number if number >= 0 else ~number).bit_length() + 8) // 8
        if -(2**63) <= number < 2**64 or shortest != len(content):
            self._fail("an integer is not in its shortest form")
        return number
