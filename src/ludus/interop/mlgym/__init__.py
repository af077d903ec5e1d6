"""The modules that MLGym's document names, and an import alias that serves them.

``ludus.interop.mlgym.environment`` has the modules ``env``, ``spaces``, ``tasks``, ``registration``
and ``utils``. :func:`install` makes them importable as ``mlgym.environment``, for programs that
cannot be changed; so does ``ludus as-mlgym -- python program.py``, or ``LUDUS_AS_MLGYM=1``.
Importing Ludus does none of this.
"""

from __future__ import annotations

from ludus.interop.mlgym.alias import VARIABLE, install, is_installed, launch, uninstall

__all__ = ["VARIABLE", "install", "is_installed", "launch", "uninstall"]
