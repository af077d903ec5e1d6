"""Ludus in Gymnasium.

Importing this module has two effects, which ``import ludus`` does not have:

* Every environment of Ludus is registered in Gymnasium, as ``ludus/<id>``.
* Wrappers of either library take environments of the other.

Gymnasium imports the module that stands before the colon of an id, so this works anywhere::

    gymnasium.make("ludus.gymnasium:ludus/CartPole-v1")
"""

from __future__ import annotations

from ludus.interop.gymnasium.plugin import register_in_gymnasium
from ludus.interop.gymnasium.wrapping import let_wrappers_convert

__all__: list[str] = []

register_in_gymnasium()
let_wrappers_convert()
