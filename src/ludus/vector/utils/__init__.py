"""Batching, shared memory and process helpers, at Gymnasium's module path."""

from __future__ import annotations

from ludus.lazy import lazy_modules
from ludus.spaces.batching import (
    batch_differing_spaces,
    batch_space,
    concatenate,
    create_empty_array,
    iterate,
)
from ludus.spaces.shared_memory import (
    create_shared_memory,
    read_from_shared_memory,
    write_to_shared_memory,
)
from ludus.vector.utils.misc import CloudpickleWrapper, clear_mpi_env_vars

__all__ = [
    "CloudpickleWrapper",
    "batch_differing_spaces",
    "batch_space",
    "clear_mpi_env_vars",
    "concatenate",
    "create_empty_array",
    "create_shared_memory",
    "iterate",
    "read_from_shared_memory",
    "write_to_shared_memory",
]

_MEMORY = ("create_shared_memory", "read_from_shared_memory", "write_to_shared_memory")
_SPACES = ("batch_differing_spaces", "batch_space", "concatenate", "create_empty_array", "iterate")

lazy_modules(
    __name__,
    {
        "shared_memory": dict.fromkeys(_MEMORY, __name__),
        "space_utils": dict.fromkeys(_SPACES, __name__),
    },
)
