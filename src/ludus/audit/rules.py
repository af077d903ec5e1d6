"""Every rule of the audit: how grave it is, what a finding means, what to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

__all__ = ["RULES", "SEVERITIES", "Rule", "Severity"]

Severity = Literal["low", "medium", "high"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule; ``id`` is what ``--ignore`` and the configuration name."""

    id: str
    severity: Severity
    meaning: str
    advice: str


_BOX = "Run it in a box (ludus.sandbox), or accept the finding with a reason."
_READ = "Read the code at this place before you install or run the package."

_ROWS: tuple[tuple[str, Severity, str, str], ...] = (
    # what the code does
    (
        "unpickling",
        "high",
        "Loads data in a way that can run code hidden in the data.",
        "Use a format without code (JSON, npz without pickle, ludus.save_state).",
    ),
    ("dynamic-code", "high", "Runs text or bytes as code.", _READ),
    (
        "encoded-code",
        "high",
        "Decodes something and runs it: what runs cannot be read.",
        "Do not install it unless its authors can explain why.",
    ),
    ("subprocess", "high", "Starts other programs.", _BOX),
    ("processes", "low", "Starts Python processes or sends signals.", _BOX),
    (
        "network",
        "medium",
        "Talks over the network.",
        "Ask what is sent and fetched; run it in a box without network.",
    ),
    ("native-call", "medium", "Calls native code, which no Python check holds back.", _BOX),
    (
        "secret-read",
        "high",
        "Reads credentials, or names a place where they are kept.",
        "Keep secrets out of its environment and run it in a box.",
    ),
    (
        "environment-read",
        "medium",
        "Reads environment variables that cannot be told in advance.",
        "Run it with an environment that holds no secrets.",
    ),
    (
        "file-write",
        "low",
        "Writes or removes files.",
        "Check which; a box holds it to its workspace.",
    ),
    ("file-write-outside", "high", "Writes outside the working folder.", _BOX),
    ("file-read-outside", "medium", "Reads files outside its package.", _BOX),
    ("computed-import", "medium", "Imports a module whose name is only known at run time.", _READ),
    ("computed-name", "high", "Picks a function of a powerful module at run time.", _READ),
    ("introspection", "high", "Reaches for any function through Python's inner tables.", _READ),
    ("import-hook", "medium", "Changes how Python imports, traces or looks up.", _READ),
    ("import-time-effect", "high", "Does this as soon as it is imported.", _READ),
    # what the files are
    (
        "startup-code",
        "high",
        "Runs in every Python process once installed.",
        "Do not install it into an environment you use for anything else.",
    ),
    (
        "install-code",
        "medium",
        "Runs while the package is built or installed.",
        "Install from a wheel: pip install --only-binary :all:",
    ),
    (
        "install-hook",
        "high",
        "Replaces a step of the installation with code of its own.",
        "Install from a wheel: pip install --only-binary :all:",
    ),
    (
        "native-extension",
        "medium",
        "Compiled code, which this audit cannot read.",
        "Build it from source you have read, or run it in a box.",
    ),
    (
        "bytecode",
        "high",
        "Compiled Python without its source: what runs cannot be read.",
        "Ask for the source.",
    ),
    (
        "nested-archive",
        "medium",
        "An archive inside the package was not opened.",
        "Audit it on its own.",
    ),
    (
        "unscanned-file",
        "high",
        "Could not be read as Python within the limits, so nothing is known.",
        _READ,
    ),
    ("hidden-text", "high", "The source reads differently to Python and to people.", _READ),
    ("long-line", "medium", "A line too long to review.", _READ),
    ("encoded-data", "low", "A long literal without words.", _READ),
    (
        "unsafe-archive",
        "high",
        "The archive holds what an honest one does not.",
        "Do not unpack it.",
    ),
    (
        "changed-file",
        "high",
        "Differs from what the package's own record says.",
        "Reinstall the package and compare.",
    ),
    ("shadowed-module", "high", "Installs a module under a name of the standard library.", _READ),
    # what the package says of itself
    (
        "undeclared-network",
        "high",
        "Its environments declare no network, and its code uses it.",
        "Ask its authors to correct SecuritySpec.network, or to remove the calls.",
    ),
    (
        "undeclared-subprocess",
        "high",
        "Its environments declare no subprocess, and its code starts programs.",
        "Ask its authors to correct SecuritySpec.subprocess, or to remove the calls.",
    ),
    (
        "undeclared-file",
        "high",
        "Its environments do not declare this path.",
        "Ask its authors to correct SecuritySpec.filesystem, or to remove the access.",
    ),
    (
        "claims-builtin",
        "high",
        "Its environments claim to be part of Ludus.",
        "Do not trust the package.",
    ),
    (
        "unreadable-declaration",
        "low",
        "SecuritySpec is computed; it cannot be compared.",
        "Write it as literals in the register call.",
    ),
    # what it depends on
    ("vulnerability", "high", "A known vulnerability.", "Upgrade to a fixed version."),
    (
        "direct-dependency",
        "medium",
        "A dependency from an address instead of an index.",
        "Ask for a released version.",
    ),
    (
        "denied-licence",
        "high",
        "A licence that is not allowed here.",
        "Replace the package, or allow the licence.",
    ),
    (
        "unknown-licence",
        "low",
        "No licence that a program can tell.",
        "Look it up, then accept the finding with what you found.",
    ),
    (
        "invalid-metadata",
        "medium",
        "Metadata that breaks its format.",
        "Do not rely on the names and versions shown.",
    ),
    (
        "stale-acceptance",
        "medium",
        "The configuration accepts what is no longer found.",
        "Remove the entry.",
    ),
    ("bandit", "medium", "Reported by bandit.", "See the documentation of the check."),
)

RULES: dict[str, Rule] = {row[0]: Rule(*row) for row in _ROWS}
