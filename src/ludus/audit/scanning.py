"""Scan of a package's source files by a separate process."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ludus.audit.child import end, start
from ludus.audit.limits import AuditError, Limits
from ludus.audit.rules import RULES, make_finding
from ludus.audit.target import Member
from ludus.findings import Finding

__all__ = ["Scan", "scan_sources"]

_LONGEST_ANSWER = 4 * 2**20
_PROGRAM = "import sys; sys.path.insert(0, sys.argv[1]); from scan.child import main; main()"


@dataclass(slots=True)
class Scan:
    """Result of the scan.

    ``sources`` are the files that could be read; ``specs`` the environments that they register.
    """

    findings: list[Finding] = field(default_factory=list)
    specs: list[dict[str, Any]] = field(default_factory=list)
    sources: dict[str, bytes] = field(default_factory=dict)
    incomplete: list[str] = field(default_factory=list)


def scan_sources(members: list[Member], limits: Limits) -> Scan:
    """Scan Python files.

    A file that is too long, or that crashes the scanning process, is reported as a finding; the
    others are still scanned.
    """
    scan = Scan()
    failures = 0
    deadline = time.monotonic() + limits.scan_seconds
    reader = _Reader(limits)
    total = 0
    try:
        for member in members:
            if failures > limits.failures or time.monotonic() > deadline or total > limits.total:
                rest = "the scan was stopped: too many files crashed it, or it took too long"
                scan.incomplete.append(rest)
                scan.findings.append(make_finding("unscanned-file", member.path, message=rest))
                break
            try:
                content = _content(member, limits)
                total += len(content)
                answer = reader.ask(member.path, content)
            except AuditError as problem:
                scan.findings.append(
                    make_finding("unscanned-file", member.path, 0, message=str(problem))
                )
                failures += isinstance(problem, _ReaderLost)
                continue
            _take(answer, member.path, content, scan)
    finally:
        reader.close()
    return scan


def _content(member: Member, limits: Limits) -> bytes:
    content = member.read(limits.source + 1)
    if len(content) > limits.source:
        raise AuditError(f"is longer than {limits.source} bytes")
    return content


def _take(answer: dict[str, Any], path: str, content: bytes, scan: Scan) -> None:
    """Add the answer of the scanning process; malformed parts are ignored."""
    rules = set()
    for rule, line, detail in answer["hits"]:
        if rule in RULES and isinstance(line, int):
            rules.add(rule)
            scan.findings.append(make_finding(rule, path, line, str(detail)))
    scan.specs += [{**spec, "path": path} for spec in answer["specs"]]
    if "unscanned-file" not in rules:
        scan.sources[path] = content


class _ReaderLost(AuditError):
    """The scanning process crashed or was killed."""


class _Reader:
    """The scanning process; it is restarted after a crash."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._process: subprocess.Popen[bytes] | None = None

    def ask(self, path: str, content: bytes) -> dict[str, Any]:
        """Scan one file and return the answer.

        Raises:
            _ReaderLost: There was no answer within the limits.
        """
        if self._process is None:
            program = [sys.executable, "-I", "-S", "-c", _PROGRAM, str(Path(__file__).parent)]
            self._process = start(program, memory=self._limits.memory)
        name = path.encode("utf-8", "replace")
        request = b"%d %d\n%s%s" % (len(name), len(content), name, content)
        try:
            if self._process.stdin is None:
                raise _ReaderLost("there is no scanning process")
            self._process.stdin.write(request)
            self._process.stdin.flush()
            answer = json.loads(self._line(self._process))
            if not (isinstance(answer.get("hits"), list) and isinstance(answer["specs"], list)):
                raise ValueError("no answer")
        except (OSError, ValueError, KeyError, AttributeError, RecursionError) as problem:
            self.close()
            reason = str(problem) if isinstance(problem, _ReaderLost) else "crashed the scanner"
            raise _ReaderLost(reason) from problem
        return dict(answer)

    def _line(self, process: subprocess.Popen[bytes]) -> bytes:
        deadline = time.monotonic() + self._limits.file_seconds
        line = b""
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)  # type: ignore[arg-type]
            while not line.endswith(b"\n"):
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    took = f"took longer than {self._limits.file_seconds:g} seconds to read"
                    raise _ReaderLost(took)
                part = os.read(process.stdout.fileno(), 2**16)  # type: ignore[union-attr]
                line += part
                if not part or len(line) > _LONGEST_ANSWER:
                    raise _ReaderLost("crashed the scanner, or exceeded its memory limit")
        return line

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            end(self._process)
            self._process = None
