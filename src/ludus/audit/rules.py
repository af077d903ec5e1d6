"""The rules of the audit, and the findings that violate them."""

from __future__ import annotations

from typing import Any, Literal, get_args

from ludus.findings import Finding, Rule, RuleBook
from ludus.terminal_text import printable

__all__ = ["BOOK", "RULES", "SEVERITIES", "Severity", "make_finding", "order", "to_dict"]

Severity = Literal["low", "medium", "high"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)

_BOX = "Run it in a sandbox (ludus.sandbox), or accept the finding with a reason."
_READ = "Read this code before you install or run the package."
_NETWORK = "Find out what is sent and received; run it in a sandbox without network."
_FILES = "Check which files; a sandbox restricts it to its workspace."
_SECRETS = "Keep secrets out of its environment variables and run it in a sandbox."
_FORMAT = "Use a format that cannot contain code (JSON, npz, ludus.save_state)."
_STARTUP = "Install it only into a separate Python environment."
_WHEEL = "Install from a wheel: pip install --only-binary :all:"
_SOURCE = "Build it from source that you have read, or run it in a sandbox."
_CORRECT = "Ask the authors to correct SecuritySpec or to remove the code."
_LICENCE = "Replace the package, or allow the licence."
_LOOK_UP = "Look it up, then accept the finding with the licence as the reason."

_RULES = (
    # behaviour of the code
    Rule("subprocess", "high", "Starts other programs.", _BOX),
    Rule("processes", "low", "Starts Python processes or sends signals.", _BOX),
    Rule("network", "medium", "Uses the network.", _NETWORK),
    Rule("native-call", "medium", "Calls native code, which can bypass Python checks.", _BOX),
    Rule("secret-read", "high", "Reads credentials, or names a file of credentials.", _SECRETS),
    Rule("file-write", "low", "Writes or removes files.", _FILES),
    Rule("file-write-outside", "high", "Writes outside the working folder.", _BOX),
    Rule("file-read-outside", "medium", "Reads files outside its package.", _BOX),
    Rule("unpickling", "high", "Loads data that can run code, in a way bandit ignores.", _FORMAT),
    Rule("computed-import", "medium", "Imports a module by a computed name.", _READ),
    Rule("computed-name", "high", "Selects a function of a sensitive module at run time.", _READ),
    Rule("import-time-effect", "high", "Has this effect when it is imported.", _READ),
    Rule("bandit", "medium", "Reported by bandit.", "See bandit's documentation of the check."),
    # files
    Rule("startup-code", "high", "Runs in every Python process after installation.", _STARTUP),
    Rule("install-code", "medium", "Runs while the package is built or installed.", _WHEEL),
    Rule("native-extension", "medium", "Compiled code, which is not audited.", _SOURCE),
    Rule("bytecode", "high", "Compiled Python without its source.", "Ask for the source."),
    Rule("nested-archive", "medium", "An archive, which is not audited.", "Audit it separately."),
    Rule("unscanned-file", "high", "Cannot be read as Python within the limits.", _READ),
    Rule("unsafe-archive", "high", "The archive has unusual entries.", "Do not unpack it."),
    Rule("changed-file", "high", "Differs from the package's RECORD.", "Reinstall and compare."),
    Rule("shadowed-module", "high", "Has the name of a standard library module.", _READ),
    # declarations
    Rule("undeclared-network", "high", "Uses the network without declaring it.", _CORRECT),
    Rule("undeclared-subprocess", "high", "Starts programs without declaring it.", _CORRECT),
    Rule("undeclared-file", "high", "Reads a path without declaring it.", _CORRECT),
    Rule("claims-builtin", "high", "Claims to be part of Ludus.", "Do not trust the package."),
    Rule("unreadable-declaration", "low", "SecuritySpec is not a literal.", "Use literals."),
    # dependencies
    Rule("vulnerability", "high", "A known vulnerability.", "Upgrade to a fixed version."),
    Rule("direct-dependency", "medium", "A dependency by URL.", "Ask for a released version."),
    Rule("denied-licence", "high", "A licence that is not allowed.", _LICENCE),
    Rule("unknown-licence", "low", "The licence is unknown.", _LOOK_UP),
    Rule("invalid-metadata", "medium", "Invalid metadata.", "Do not rely on it."),
    Rule("stale-acceptance", "medium", "Matches no finding.", "Remove the entry."),
)

_KEYS = ("rule", "severity", "path", "line", "detail", "advice", "accepted")
BOOK = RuleBook(SEVERITIES, _RULES, {key: key.replace("detail", "message") for key in _KEYS})
RULES = BOOK.rules


def make_finding(
    rule: str, path: str, line: int = 0, message: str = "", severity: str | None = None
) -> Finding:
    """Return a finding with printable texts; ``path`` is relative to the package."""
    return BOOK.finding(rule, printable(message), printable(path), line, severity=severity)


def order(found: Finding) -> tuple[Any, ...]:
    """Return a key that sorts the most severe findings first."""
    return (BOOK.order(found), found.rule, found.path, found.line)


def to_dict(found: Finding) -> dict[str, Any]:
    """Return a finding as JSON-ready data, with the meaning of its rule."""
    return {**BOOK.to_dict(found), "meaning": BOOK.rule_of(found).meaning}
