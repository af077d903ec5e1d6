"""Checks that read the package: files, Dockerfile, dependencies, declarations."""

from __future__ import annotations

import json
import math
import re
import tomllib
from pathlib import Path
from typing import Any

from openenv.validation.policy import load_policy

from ludus.foreign_files import read_text
from ludus.serve.openenv.grading.check import Check, Found, Level

__all__ = [
    "DEPENDENCY_PINNING",
    "IMAGE_HYGIENE",
    "LAYOUT",
    "OCI_LABELS",
    "RESOURCE_DECLARATION",
    "SBOM",
    "TASK_DISTRIBUTION_PINNING",
    "TIMEOUT_CEILING",
]

_LARGEST = 1 << 24
_DOCKERFILES = ("Dockerfile", "server/Dockerfile")
_SBOMS = ("sbom.json", "sbom.cdx.json", "bom.json", "sbom.spdx.json")
_LABELS = ("title", "version", "description")
_SECRET = re.compile(r"(?i)\b(?:ENV|ARG)\s+\w*(?:SECRET|TOKEN|PASSWORD|API_?KEY)\w*[ =]\S")
_PINNED = re.compile(r"(===?\s*[\w.!+*-]+|@\s*\S+)\s*(;.*)?$")


def _text(root: Path, name: str) -> str | None:
    """Return the text of a file of the package; ``None`` if there is none."""
    path = root / name
    if not path.is_file() or not path.resolve().is_relative_to(root.resolve()):
        return None
    try:
        return read_text(path, _LARGEST)
    except (OSError, UnicodeDecodeError):
        return None


def _dockerfile(subject: Any) -> str | None:
    """Return the instructions of the Dockerfile, continued lines joined."""
    execution = getattr(subject.manifest, "execution", None)
    names = (*([] if execution is None else [execution.dockerfile]), *_DOCKERFILES)
    text = next((found for name in names if (found := _text(subject.root, name))), None)
    return None if text is None else re.sub(r"\\\s*\n", " ", text)


def _lines(text: str, instruction: str) -> list[str]:
    found = re.findall(rf"(?im)^\s*{instruction}\s+(.+)$", text)
    return [str(one).strip() for one in found]


def _layout(subject: Any) -> Found:
    found = Found()
    found.expect(_text(subject.root, "openenv.yaml") is not None, "there is no openenv.yaml")
    found.expect(_dockerfile(subject) is not None, "there is no Dockerfile")
    found.expect(_text(subject.root, "README.md") is not None, "there is no README.md")
    execution = getattr(subject.manifest, "execution", None)
    if execution is not None:
        probe = execution.probe_path
        found.expect(_text(subject.root, probe) is not None, f"there is no {probe}")
    return found


def _image_hygiene(subject: Any) -> Found:
    text, found = _dockerfile(subject), Found()
    if text is None:
        return Found(["there is no Dockerfile"])
    users = _lines(text, "USER")
    found.expect(bool(users) and users[-1].split(":")[0] not in ("root", "0"), "it runs as root")
    stages = {line.split()[-1].lower() for line in _lines(text, "FROM") if " as " in line.lower()}
    for base in (line.split()[0] for line in _lines(text, "FROM")):
        name = base.rpartition("/")[2]
        tagged = ":" in name or "@" in name or base.lower() in stages or base == "scratch"
        found.expect(tagged and not name.endswith(":latest"), f"the base {base} has no version")
    found.expect(not _SECRET.search(text), "a variable looks like a secret")
    remote = [line for line in _lines(text, "ADD") if "://" in line]
    found.expect(not remote, "ADD fetches files without a digest")
    return found


def _oci_labels(subject: Any) -> Found:
    text = _dockerfile(subject) or ""
    names = set(re.findall(r"org\.opencontainers\.image\.(\w+)", " ".join(_lines(text, "LABEL"))))
    missing = [name for name in _LABELS if name not in names]
    return Found([f"the label org.opencontainers.image.{name} is missing" for name in missing])


def _sbom(subject: Any) -> Found:
    for name in _SBOMS:
        text = _text(subject.root, name)
        if text is None:
            continue
        try:
            data = json.loads(text)
        except (ValueError, RecursionError):
            return Found([f"{name} is not JSON"])
        known = isinstance(data, dict) and (
            data.get("bomFormat") == "CycloneDX" or "spdxVersion" in data
        )
        parts = data.get("components") or data.get("packages") if known else None
        return Found([] if parts else [f"{name} lists no components of CycloneDX or SPDX"])
    return Found([f"there is none of {', '.join(_SBOMS)}"])


def _resource_declaration(subject: Any) -> Found:
    declared = subject.manifest.resources
    found = Found(measured=declared.model_dump())
    for name in ("cpu", "memory_mb", "disk_mb", "episode_timeout_s"):
        value = float(getattr(declared, name))
        found.expect(math.isfinite(value) and value > 0, f"{name} is {value}")
    found.expect(not declared.gpus or bool(declared.gpu_types), "gpus without gpu_types")
    return found


def _timeout_ceiling(subject: Any) -> Found:
    seconds = subject.manifest.resources.episode_timeout_s
    most = load_policy("v2").bounds.max_episode_timeout_s
    found = Found(measured={"episode_timeout_s": seconds, "most": most})
    found.expect(seconds <= most, f"an episode may take {seconds} seconds, more than {most}")
    return found


def _dependency_pinning(subject: Any) -> Found:
    if _text(subject.root, "uv.lock") is not None:
        return Found(measured={"lock": "uv.lock"})
    found, count = Found(), 0
    for requirement in _requirements(subject):
        count += 1
        found.expect(bool(_PINNED.search(requirement)), f"{requirement!r:.100} has no version")
    found.expect(count > 0, "no dependencies are declared: no uv.lock, no requirements")
    found.measured["requirements"] = count
    return found


def _requirements(subject: Any) -> list[str]:
    listed: list[str] = []
    for file in sorted(subject.root.glob("requirements*.txt")):
        text = _text(subject.root, file.name) or ""
        lines = (line.split(" #")[0].strip() for line in text.splitlines())
        listed += [line for line in lines if line and line[0] not in "#-"]
    project = _text(subject.root, "pyproject.toml")
    if project is not None:
        try:
            listed += tomllib.loads(project).get("project", {}).get("dependencies", [])
        except tomllib.TOMLDecodeError:
            listed.append("pyproject.toml (unreadable)")
    for line in _lines(_dockerfile(subject) or "", "RUN"):
        if match := re.search(r"pip3? install (.*?)(?:&&|$)", line):
            words = match[1].replace("'", "").replace('"', "").split()
            listed += [word for word in words if word[0] not in "-./"]
    return listed


def _task_distribution_pinning(subject: Any) -> Found:
    pin = subject.manifest.task_distribution
    told = {} if pin is None else pin.model_dump(exclude_none=True)
    return Found([] if told else ["there is a task API, and no task_distribution"], told)


LAYOUT = Check("static.layout", Level.STATIC, _layout, "Add the missing files.")
IMAGE_HYGIENE = Check(
    "static.image_hygiene",
    Level.STATIC,
    _image_hygiene,
    "Run as a user, on a base with a version, without secrets in variables.",
)
OCI_LABELS = Check(
    "static.oci_labels", Level.STATIC, _oci_labels, "Add the labels to the Dockerfile."
)
SBOM = Check("static.sbom", Level.STATIC, _sbom, "Add a bill of materials, such as sbom.cdx.json.")
RESOURCE_DECLARATION = Check(
    "static.resource_declaration",
    Level.STATIC,
    _resource_declaration,
    "Declare finite resources.",
    depends_on=("static.manifest",),
)
TIMEOUT_CEILING = Check(
    "static.timeout_ceiling", Level.STATIC, _timeout_ceiling, "Shorten the time of an episode."
)
DEPENDENCY_PINNING = Check(
    "static.dependency_pinning",
    Level.STATIC,
    _dependency_pinning,
    "Name a version of each dependency, or add uv.lock.",
)
TASK_DISTRIBUTION_PINNING = Check(
    "static.task_distribution_pinning",
    Level.STATIC,
    _task_distribution_pinning,
    "Say in task_distribution what the tasks are made from.",
    requires_capabilities=frozenset({"task_api"}),
)
