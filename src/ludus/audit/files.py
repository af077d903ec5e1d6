"""Checks of a package's files by name and content, without parsing Python."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator

from ludus.audit.limits import AuditError, Limits
from ludus.audit.rules import make_finding
from ludus.audit.target import Member, Target
from ludus.findings import Finding

__all__ = ["check_files", "is_python"]

_NATIVE = (".so", ".pyd", ".dll", ".dylib", ".exe")
_ARCHIVES = (".whl", ".zip", ".egg", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".pyz")
_STARTUP = {"sitecustomize.py", "usercustomize.py"}


def is_python(member: Member) -> bool:
    """Return whether a file is Python source, by its suffix or its shebang line."""
    name = member.path.rpartition("/")[2].lower()
    if name.endswith((".py", ".pyw")):
        return True
    if "." in name or not 0 < member.size < 2**22:
        return False
    try:
        start = member.read(200)
    except AuditError:
        return False
    return start.startswith(b"#!") and b"python" in start.partition(b"\n")[0]


def check_files(target: Target, members: list[Member], limits: Limits) -> list[Finding]:
    """Find compiled code, code that runs at start-up or installation, and archives."""
    findings: list[Finding] = []
    for member in members:
        try:
            findings += _check(member, target, limits)
        except AuditError as problem:
            findings.append(make_finding("unscanned-file", member.path, message=str(problem)))
    return findings


def _check(member: Member, target: Target, limits: Limits) -> Iterator[Finding]:
    path = member.path
    name = path.rpartition("/")[2].lower()
    if name.endswith(_NATIVE) or ".so." in name:
        yield make_finding("native-extension", path, message=f"{member.size} bytes")
    elif name.endswith((".pyc", ".pyo")):
        yield make_finding("bytecode", path)
    elif name.endswith(_ARCHIVES):
        yield make_finding("nested-archive", path)
    elif name.endswith(".pth"):
        yield from _check_pth(member, limits)
    elif name in _STARTUP:
        yield make_finding("startup-code", path)
    elif name in ("setup.py", "setup.cfg") and path.count("/") <= (target.kind == "sdist"):
        if b"cmdclass" in member.read(limits.source):
            replaced = "cmdclass replaces an installation command"
            yield make_finding("install-code", path, 0, replaced, severity="high")
        elif name == "setup.py":
            yield make_finding("install-code", path)
    elif name == "pyproject.toml":
        yield from _check_build(member, limits)
    if target.kind in ("wheel", "installed"):
        top = path.partition("/")[0].removesuffix(".py")
        if top in sys.stdlib_module_names - {"test"} and path.endswith((".py", ".so", ".pyd")):
            yield make_finding("shadowed-module", path, message=top)


def _check_pth(member: Member, limits: Limits) -> Iterator[Finding]:
    """Find the lines that Python executes: those that begin with ``import``."""
    content = member.read(limits.metadata)
    for number, line in enumerate(content.replace(b"\r", b"\n").split(b"\n"), 1):
        text = line.removeprefix(b"\xef\xbb\xbf")
        if text.startswith((b"import ", b"import\t")):
            detail = text.decode("utf-8", "replace")
            yield make_finding("startup-code", member.path, number, detail)


def _check_build(member: Member, limits: Limits) -> Iterator[Finding]:
    try:
        settings = tomllib.loads(member.read(limits.metadata).decode("utf-8"))
        build = settings.get("build-system", {})
        if "backend-path" in build:
            detail = f"uses its own build backend {build.get('build-backend')}"
            yield make_finding("install-code", member.path, message=detail)
    except (ValueError, RecursionError, AttributeError, TypeError):
        yield make_finding("invalid-metadata", member.path, message="is not TOML")
