"""Packages to audit, made on the spot; none of them is ever installed or imported."""

from __future__ import annotations

import io
import tarfile
import zipfile

from ludus.audit import Settings, audit
from ludus.audit.scan.child import examine

OFFLINE = Settings(offline=True, bandit=False)


def rules_in(source, name="module.py"):
    """The rules that one source file breaks, by the scanner itself."""
    content = source if isinstance(source, bytes) else source.encode()
    return {rule for rule, _, _ in examine(name, content)["hits"]}


def metadata(name="suspect", version="1.0", **fields):
    lines = ["Metadata-Version: 2.4", f"Name: {name}", f"Version: {version}"]
    for key, values in {"License_Expression": "MIT", **fields}.items():
        for value in values if isinstance(values, list) else [values]:
            lines.append(f"{key.replace('_', '-')}: {value}")
    return "\n".join(lines) + "\n\n"


def make_wheel(folder, files, **fields):
    path = folder / "suspect-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("suspect-1.0.dist-info/METADATA", metadata(**fields))
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def make_sdist(folder, files=(), members=()):
    path = folder / "suspect-1.0.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name, content in {"suspect-1.0/PKG-INFO": metadata(), **dict(files)}.items():
            info = tarfile.TarInfo(name)
            info.size = len(content.encode())
            archive.addfile(info, io.BytesIO(content.encode()))
        for info in members:
            archive.addfile(info)
    return path


def make_folder(folder, files, project='name = "suspect"\nversion = "1.0"\nlicense = "MIT"\n'):
    for name, content in {"pyproject.toml": f"[project]\n{project}", **files}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return folder


def findings(path, settings=OFFLINE):
    return audit(str(path), settings).findings


def rules(path, settings=OFFLINE):
    return {finding.rule for finding in findings(path, settings)}
