"""Spaces: the sets of observations and actions of an environment.

A space can be sampled, seeded and tested for membership (``x in space``). Functions flatten values
to vectors, batch them for several environments, share them between processes, and convert spaces
to JSON.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ludus.lazy import lazy_names
from ludus.spaces.batching import (
    batch_differing_spaces,
    batch_space,
    concatenate,
    create_empty_array,
    iterate,
)
from ludus.spaces.box import Box
from ludus.spaces.dict import Dict
from ludus.spaces.discrete import Discrete
from ludus.spaces.errors import SpaceRangeError, SpaceTypeError, SpaceValueError
from ludus.spaces.graph import Graph, GraphInstance
from ludus.spaces.multi_binary import MultiBinary
from ludus.spaces.multi_discrete import MultiDiscrete
from ludus.spaces.oneof import OneOf
from ludus.spaces.sequence import Sequence
from ludus.spaces.space import Space
from ludus.spaces.text import Text
from ludus.spaces.tuple import Tuple

if TYPE_CHECKING:
    from ludus.spaces import utils
    from ludus.spaces.flattening import flatdim, flatten, flatten_space, unflatten
    from ludus.spaces.layout import Layout, MemoryLayout
    from ludus.spaces.serialization import from_dict, from_json, to_dict, to_json
    from ludus.spaces.shared_memory import (
        create_shared_memory,
        read_from_shared_memory,
        write_to_shared_memory,
    )
    from ludus.spaces.utils import is_space_dtype_shape_equiv

__all__ = [
    "Box",
    "Dict",
    "Discrete",
    "Graph",
    "GraphInstance",
    "Layout",
    "MemoryLayout",
    "MultiBinary",
    "MultiDiscrete",
    "OneOf",
    "Sequence",
    "Space",
    "SpaceRangeError",
    "SpaceTypeError",
    "SpaceValueError",
    "Text",
    "Tuple",
    "batch_differing_spaces",
    "batch_space",
    "concatenate",
    "create_empty_array",
    "create_shared_memory",
    "flatdim",
    "flatten",
    "flatten_space",
    "from_dict",
    "from_json",
    "is_space_dtype_shape_equiv",
    "iterate",
    "read_from_shared_memory",
    "to_dict",
    "to_json",
    "unflatten",
    "utils",
    "write_to_shared_memory",
]

_HOMES = {
    "flattening": "flatdim flatten flatten_space unflatten",
    "layout": "Layout MemoryLayout",
    "serialization": "from_dict from_json to_dict to_json",
    "shared_memory": "create_shared_memory read_from_shared_memory write_to_shared_memory",
    "utils": "is_space_dtype_shape_equiv",
}
"""Names by the module that is imported on first use."""
_MODULES = {name: module for module, names in _HOMES.items() for name in names.split()}

__getattr__ = lazy_names(__name__, _MODULES, modules=("utils",))
