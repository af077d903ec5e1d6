"""Registration of Ludus in Gymnasium, as an effect of the import.

* Every environment of Ludus is registered in Gymnasium as ``ludus/<id>``.
* Wrappers of either library accept environments of the other.

Gymnasium imports the module before the colon of an id, so this needs no other import::

    gymnasium.make("ludus.gymnasium:ludus/CartPole-v1")
"""

from __future__ import annotations

from ludus.interop.gymnasium.plugin import register_in_gymnasium
from ludus.interop.gymnasium.wrapping import let_wrappers_convert

__all__: list[str] = []

register_in_gymnasium()
let_wrappers_convert()
