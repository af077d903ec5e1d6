"""Import alias: ``import mlgym.environment`` returns Ludus's modules.

The alias serves exactly the modules of :data:`MODULES`; other modules of MLGym do not exist under
it. Child processes get it through the environment variable ``LUDUS_AS_MLGYM``, which is read when
Python starts.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

from ludus.errors import Error
from ludus.interop.gymnasium import launch as gymnasium_launch

__all__ = [
    "MODULES",
    "VARIABLE",
    "child_environment",
    "install",
    "installed_finder",
    "is_installed",
    "launch",
    "uninstall",
]

VARIABLE = "LUDUS_AS_MLGYM"
_OURS = "ludus.interop.mlgym"
MODULES = {
    "mlgym": _OURS,
    "mlgym.environment": f"{_OURS}.environment",
    **{
        f"mlgym.environment.{name}": f"{_OURS}.environment.{name}"
        for name in ("env", "registration", "spaces", "tasks", "utils")
    },
}
"""The modules of MLGym that the alias serves, and Ludus's."""


def install(*, children: bool = True) -> None:
    """Install the alias; a second call does nothing.

    Args:
        children: Whether child processes get the alias too. Sets ``LUDUS_AS_MLGYM`` and extends
            ``PYTHONPATH`` in this process's environment.

    Raises:
        Error: MLGym has already been imported.
    """
    if not is_installed():
        loaded = sys.modules.get("mlgym")
        if loaded is not None:
            raise Error(
                f"MLGym is imported already, from {getattr(loaded, '__file__', 'somewhere')}, so "
                "it cannot be replaced. Call install() before the first import, or start the "
                "program with `ludus as-mlgym -- python program.py`."
            )
        sys.meta_path.insert(0, _AliasFinder())
    if children:
        os.environ.update(child_environment())


def uninstall() -> None:
    """Undo :func:`install`: the finder, the modules and the environment variable."""
    sys.meta_path[:] = [one for one in sys.meta_path if not isinstance(one, _AliasFinder)]
    for name in [name for name in sys.modules if name in MODULES]:
        del sys.modules[name]
    os.environ.pop(VARIABLE, None)


def is_installed() -> bool:
    """Return whether the alias is installed."""
    return installed_finder() is not None


def installed_finder() -> _AliasFinder | None:
    """Return the installed finder, or ``None``."""
    return next((finder for finder in sys.meta_path if isinstance(finder, _AliasFinder)), None)


def child_environment() -> dict[str, str]:
    """Return the environment variables that install the alias in a child process."""
    return gymnasium_launch.child_environment(VARIABLE)


def launch(argv: Sequence[str]) -> int:
    """Run a command with the alias, child processes included, and return its exit status.

    Raises:
        ValueError: The command is empty.
        OSError: It cannot be run.
    """
    if not argv:
        raise ValueError("No command given; for example: ludus as-mlgym -- python program.py")
    return gymnasium_launch.run_with(child_environment(), argv)


class _AliasFinder(MetaPathFinder, Loader):
    """Import finder and loader of the alias."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.partition(".")[0] != "mlgym":
            return None
        if fullname not in MODULES:
            raise ModuleNotFoundError(
                f"No module named {fullname!r}: Ludus is imported as 'mlgym' and has only "
                f"{', '.join(MODULES)}.",
                name=fullname,
            )
        is_package = fullname.count(".") < 2
        return ModuleSpec(fullname, self, origin="ludus", is_package=is_package)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = ModuleType(spec.name, f"Ludus, imported as ``{spec.name}``.")
        source = importlib.import_module(MODULES[spec.name])
        module.__file__ = source.__file__
        public = {name: getattr(source, name) for name in source.__all__}
        module.__dict__.update(public, __all__=list(source.__all__), __ludus__=True)
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: the module is complete."""
