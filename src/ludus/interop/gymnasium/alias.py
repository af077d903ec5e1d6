"""Import alias: ``import gymnasium`` returns Ludus, for code that cannot be changed.

:func:`install` adds an import finder. From then on ``gymnasium`` and its submodules contain Ludus's
objects: ``gymnasium.Env is ludus.Env``. Classes that Gymnasium also has get its module names,
because libraries compare these strings and pickles store them. ``gymnasium.__ludus__`` is true.

Child processes get the alias through the environment variable ``LUDUS_AS_GYMNASIUM``, which is
read when Python starts (:mod:`ludus.interop.gymnasium.launch`).
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import sys
from collections.abc import Iterator, Sequence
from email.message import Message
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.metadata import Distribution, DistributionFinder
from pathlib import Path
from types import ModuleType
from typing import Any

from ludus import logger
from ludus.errors import Error
from ludus.interop.gymnasium.alias_table import (
    ALIAS,
    CLOSED,
    EAGER,
    IMPORTED,
    IMPORTED_MODULES,
    LIVE,
    RENAMED,
    ROWS,
    VERSION,
    Row,
    submodules,
)
from ludus.interop.gymnasium.constants import CONSTANTS
from ludus.interop.gymnasium.launch import child_environment
from ludus.interop.gymnasium.relabelling import Relabelling

__all__ = ["install", "installed_finder", "is_installed", "uninstall"]


def install(*, children: bool = True) -> None:
    """Install the alias; a second call does nothing.

    Args:
        children: Whether child processes get the alias too. Sets ``LUDUS_AS_GYMNASIUM`` and
            extends ``PYTHONPATH`` in this process's environment.

    Raises:
        Error: Gymnasium has already been imported.
    """
    finder = installed_finder()
    if finder is None:
        loaded = sys.modules.get(ALIAS)
        if loaded is not None:
            raise Error(
                f"Gymnasium is imported already, from {getattr(loaded, '__file__', 'somewhere')}, "
                "so it cannot be replaced. Call alias.install() before the first import, or start "
                "the program with `ludus as-gymnasium -- python program.py`."
            )
        finder = _AliasFinder()
        sys.meta_path.insert(0, finder)
        logger.as_gymnasium = True
    if children:
        finder.extend_environment()


def uninstall() -> None:
    """Undo :func:`install`: the finder, modules, class names and environment variables."""
    finder = installed_finder()
    if finder is None:
        return
    sys.meta_path.remove(finder)
    logger.as_gymnasium = False
    finder.restore()
    for name in [name for name, module in sys.modules.items() if isinstance(module, _AliasModule)]:
        del sys.modules[name]


def is_installed() -> bool:
    """Return whether the alias is installed."""
    return installed_finder() is not None


def installed_finder() -> _AliasFinder | None:
    """Return the installed finder, or ``None``."""
    return next((finder for finder in sys.meta_path if isinstance(finder, _AliasFinder)), None)


class _AliasModule(ModuleType):
    """A module of Gymnasium whose names are looked up in Ludus on first access."""

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":
            return [public for public in _public_names(self.__name__) if hasattr(self, public)]
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        value = _look_up(self.__name__, name)
        if f"{self.__name__}.{name}" not in LIVE:
            self.__dict__[name] = value
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        if f"{self.__name__}.{name}" in LIVE:
            source = importlib.import_module(ROWS[self.__name__].sources.split()[0])
            setattr(source, name, value)
        # Importing `utils.colorize` would replace the function of that name by the module.
        elif not (isinstance(value, _AliasModule) and _home(self.__name__, name) is not None):
            super().__setattr__(name, value)

    def __reduce__(self) -> Any:
        # Functions sent to other processes pickle the modules they use by name.
        return importlib.import_module, (self.__name__,)

    def __dir__(self) -> list[str]:
        return sorted({*self.__dict__, *self.__all__, *submodules(self.__name__)})


def _look_up(module: str, name: str) -> Any:
    """Return Ludus's object for ``module.name``.

    Raises:
        AttributeError: There is none.
    """
    home = _home(module, name)
    if home is None and name in submodules(module):
        home, name = f"{module}.{name}", ""
    if home is not None and home != module:
        try:
            found = importlib.import_module(home)
        except ModuleNotFoundError as problem:
            if problem.name != home:
                raise
            raise _missing(module, name or home) from problem
        return getattr(found, name) if name else found
    for search in (_in_constants, _in_sources, _in_imports):
        value = search(module, name)
        if value is not _MISSING:
            return value
    raise _missing(module, name)


_MISSING = object()


def _in_sources(module: str, name: str) -> Any:
    if module in CLOSED:
        return _MISSING
    row = ROWS[module]
    if name in row.defines.split() and row.version:
        name = f"{name.removesuffix('Env')}{row.version}Env"
    for source in _sources(row):
        value = getattr(importlib.import_module(source), name, _MISSING)
        # A module of Ludus with this name is not Gymnasium's object of that name.
        if value is not _MISSING and not _is_own_module(value):
            return value
    return _MISSING


def _is_own_module(value: Any) -> bool:
    return isinstance(value, ModuleType) and value.__name__.partition(".")[0] == "ludus"


def _in_constants(module: str, name: str) -> Any:
    return CONSTANTS.get(module, {}).get(name, _MISSING)


def _in_imports(module: str, name: str) -> Any:
    """Look up a name that Gymnasium's modules import from one another."""
    if submodules(module):
        return _MISSING
    if name in IMPORTED_MODULES:
        return importlib.import_module(IMPORTED_MODULES[name])
    home = IMPORTED.get(name, module)
    return _MISSING if home == module else getattr(importlib.import_module(home), name)


def _missing(module: str, name: str) -> AttributeError:
    if module in CLOSED and name in RENAMED:
        return AttributeError(
            f"module {module!r} has no attribute {name!r}: it is called `wrappers.{RENAMED[name]}` "
            f"since Gymnasium 1.0"
        )
    return AttributeError(
        f"module {module!r} has no attribute {name!r}: Ludus is imported as {ALIAS!r} and has no "
        "such name"
    )


def _public_names(module: str) -> list[str]:
    row = ROWS[module]
    rows = [row, *(ROWS[f"{ALIAS}.{offered}"] for offered in row.offers.split())]
    packages = [child for child in submodules(module) if submodules(f"{module}.{child}")]
    modules = ["error", "logger"] if module == ALIAS else []
    return sorted({*packages, *modules, *(n for each in rows for n in each.defines.split())})


def _home(module: str, name: str) -> str | None:
    """Return the module that defines a name of ``module``."""
    row = ROWS[module]
    if name in row.defines.split():
        return module
    for offered in row.offers.split():
        full = f"{ALIAS}.{offered}"
        if name in ROWS[full].defines.split():
            return full
    return None


def _sources(row: Row) -> list[str]:
    return [source for source in row.sources.split() if _exists(source)]


def _exists(source: str) -> bool:
    try:
        has_file = importlib.util.find_spec(source) is not None
    except ModuleNotFoundError:  # its parent is missing
        return False
    # Packages have modules without files, which finding the spec has imported.
    return has_file or source in sys.modules


class _AliasFinder(MetaPathFinder, Loader):
    """Import finder and loader of the alias modules."""

    def __init__(self) -> None:
        self._relabelling = Relabelling()
        self._environment: dict[str, str | None] = {}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        row = ROWS.get(fullname)
        if row is None or not _sources(row):
            return None
        # An empty search path prevents imports from an installed Gymnasium.
        return ModuleSpec(fullname, self, origin="ludus", is_package=bool(submodules(fullname)))

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _AliasModule(spec.name, f"Ludus, imported as ``{spec.name}``.")

    def exec_module(self, module: ModuleType) -> None:
        row = ROWS[module.__name__]
        source = importlib.util.find_spec(_sources(row)[0])
        module.__file__ = None if source is None else source.origin
        if module.__name__ == ALIAS:
            module.__version__ = VERSION  # type: ignore[attr-defined]
            module.__ludus__ = True  # type: ignore[attr-defined]
            for name in EAGER:
                importlib.import_module(name)
            self._relabelling.rename_entry_points()
        self._label_classes(module, row.defines.split())

    def find_distributions(
        self, context: DistributionFinder.Context | None = None
    ) -> Iterator[Distribution]:
        """Find the distribution ``gymnasium`` for ``importlib.metadata``, installed or not."""
        name = getattr(context, "name", None)
        if name is not None and re.sub(r"[-_.]+", "-", name).lower() == ALIAS:
            yield _AliasDistribution()

    def extend_environment(self) -> None:
        """Set the environment variables that install the alias in child processes."""
        for name, value in child_environment().items():
            self._environment.setdefault(name, os.environ.get(name))
            os.environ[name] = value

    def restore(self) -> None:
        """Restore the names of classes and specs, and the environment variables."""
        self._relabelling.undo()
        for name, value in self._environment.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value

    def _label_classes(self, module: ModuleType, names: list[str]) -> None:
        found = [getattr(module, name) for name in names if hasattr(module, name)]
        if names and not found:
            raise ModuleNotFoundError(
                f"No module named {module.__name__!r}: Ludus is imported as {ALIAS!r} and has none "
                f"of {', '.join(names)}",
                name=module.__name__,
            )
        for value in found:
            if isinstance(value, type) and value.__module__.startswith("ludus."):
                self._relabelling.label(value, module.__name__)


class _AliasDistribution(Distribution):
    """Metadata of the alias for ``importlib.metadata``."""

    @property
    def metadata(self) -> Any:
        """Name and version."""
        message = Message()
        message["Metadata-Version"] = "2.1"
        message["Name"] = ALIAS
        message["Version"] = VERSION
        return message

    def read_text(self, filename: str) -> str | None:
        """Return ``None``: there are no files."""
        return None

    def locate_file(self, path: Any) -> Path:
        """Return a path below the directory that contains Ludus."""
        return Path(__file__).parents[3].joinpath(path)
