"""Runs with an image's own Python in a sandbox of it, and tells what the image has.

Standard library only, and the syntax of old Pythons: whichever an image has, it should tell.
"""

import glob
import importlib.util
import json
import os
import sys

# ruff: noqa: PTH110, PTH112, PTH118, PTH207 - for old Pythons too
__all__ = ["main"]

_PACKAGES = ("lib*/python3*/site-packages", "lib*/python3*/dist-packages")
_PREFIXES = ("/usr", "/usr/local", "/opt/*", "/opt/*/envs/*", "/root/*", "/home/*/*", "/venv")


def main() -> None:
    """Answer the question on standard input."""
    asked = json.load(sys.stdin)
    places = sorted({place for name in asked["hidden"] for place in _places(name)})
    sys.path[:0] = asked["paths"]
    missing = [name for name in asked["modules"] if not _is_there(name)]
    told = {
        "python": list(sys.version_info[:3]),
        "missing": missing,
        "hidden": [[place, os.path.isdir(place)] for place in places],
        "trouble": "" if missing else _trouble(asked["imports"]),
    }
    sys.stdout.write(json.dumps(told))


def _places(name: str) -> "set[str]":
    """Return where an absolute path, or a path in a module's folder, is in this image."""
    module, colon, inside = name.rpartition(":")
    paths = [os.path.join(folder, inside) for folder in _folders(module)] if colon else [name]
    return {os.path.realpath(path) for path in paths if os.path.exists(path)}


def _folders(module: str) -> "list[str]":
    spec = _spec(module)
    found = list(spec.submodule_search_locations or ()) if spec else []
    # Other Pythons of the image can be run as well.
    for prefix in (sys.prefix, sys.base_prefix, *_PREFIXES):
        for pattern in _PACKAGES:
            for packages in glob.glob(os.path.join(prefix, pattern)):
                found.append(os.path.join(packages, *module.split(".")))
    return found


def _is_there(module: str) -> bool:
    return _spec(module) is not None


def _spec(module: str):  # type: ignore[no-untyped-def] # old Pythons have another name for it
    try:
        return importlib.util.find_spec(module)
    except Exception:  # a package on the way is run for it, and may raise anything
        return None


def _trouble(modules: "list[str]") -> str:
    for module in modules:
        try:
            importlib.import_module(module)
        except Exception as problem:  # it may raise anything; the task's author is told
            return f"{type(problem).__name__}: {problem}"[:500]
    return ""


if __name__ == "__main__":
    main()
