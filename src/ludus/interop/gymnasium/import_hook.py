"""What Ludus does at the moment Gymnasium is imported.

Its environments are registered in Gymnasium, and wrappers of each library take environments of the
other. Gymnasium cannot be asked to look for Ludus, and importing it just in case would be slow; so
Ludus waits for somebody else to import it. Imports nothing but the standard library.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

__all__ = ["register_when_imported"]


def register_when_imported() -> None:
    """Register Ludus's environments in Gymnasium: now if it is loaded, else once it is."""
    if "gymnasium" in sys.modules:
        _register()
    elif not any(isinstance(finder, _Watcher) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Watcher())


def _register() -> None:
    from ludus.interop.gymnasium.plugin import register_in_gymnasium
    from ludus.interop.gymnasium.wrapping import let_wrappers_convert

    register_in_gymnasium()
    let_wrappers_convert()


class _Watcher:
    """Finds nothing itself; adds the registration to the end of Gymnasium's import.

    No subclass of ``MetaPathFinder``, because importing that takes longer than all of this.
    """

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != "gymnasium":
            return None
        spec = self._found_by_others(fullname, path, target)
        if spec is None or spec.loader is None:
            return spec
        loader = spec.loader

        def execute_and_register(module: ModuleType) -> None:
            # Some loaders serve several modules, and may have been asked several times.
            vars(loader).pop("exec_module", None)
            loader.exec_module(module)
            # Not before: who only asks whether there is a Gymnasium, does not import it.
            if self in sys.meta_path:
                sys.meta_path.remove(self)
            _register()

        loader.exec_module = execute_and_register  # type: ignore[method-assign]
        return spec

    def _found_by_others(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None
    ) -> ModuleSpec | None:
        for finder in list(sys.meta_path):
            if finder is not self and hasattr(finder, "find_spec"):
                spec = finder.find_spec(fullname, path, target)
                if spec is not None:
                    return spec
        return None
