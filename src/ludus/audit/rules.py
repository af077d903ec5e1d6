"""Every rule of the audit: how severe it is, what a finding means, what to do."""

from __future__ import annotations

from typing import Literal, get_args

from ludus.findings import Rule, RuleBook

__all__ = ["BOOK", "RULES", "SEVERITIES", "Severity"]

Severity = Literal["low", "medium", "high"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)

_BOX = "Run it in a box (ludus.sandbox), or accept the finding with a reason."
_READ = "Read the code at this place before you install or run the package."
_NETWORK = "Ask what is sent and fetched; run it in a box without network."
_FILES = "Check which; a box holds it to its workspace."
_SECRETS = "Keep secrets out of its environment and run it in a box."
_FORMAT = "Use a format without code (JSON, npz without pickle, ludus.save_state)."
_STARTUP = "Do not install it into an environment you use for anything else."
_WHEEL = "Install from a wheel: pip install --only-binary :all:"
_SOURCE = "Build it from source you have read, or run it in a box."
_CORRECT = "Ask its authors to correct SecuritySpec, or to remove the code."
_LICENCE = "Replace the package, or allow the licence."
_LOOK_UP = "Look it up, then accept the finding with what you found."

_RULES = (
    # what the code does
    Rule("subprocess", "high", "Starts other programs.", _BOX),
    Rule("processes", "low", "Starts Python processes or sends signals.", _BOX),
    Rule("network", "medium", "Talks over the network.", _NETWORK),
    Rule("native-call", "medium", "Calls native code, which no Python check holds back.", _BOX),
    Rule("secret-read", "high", "Reads credentials, or names where they are kept.", _SECRETS),
    Rule("file-write", "low", "Writes or removes files.", _FILES),
    Rule("file-write-outside", "high", "Writes outside the working folder.", _BOX),
    Rule("file-read-outside", "medium", "Reads files outside its package.", _BOX),
    Rule("unpickling", "high", "Loads data that can run code, by means bandit ignores.", _FORMAT),
    Rule("computed-import", "medium", "Imports a module whose name is computed.", _READ),
    Rule("computed-name", "high", "Picks a function of a powerful module at run time.", _READ),
    Rule("import-time-effect", "high", "Does this as soon as it is imported.", _READ),
    Rule("bandit", "medium", "Reported by bandit.", "See the documentation of the check."),
    # what the files are
    Rule("startup-code", "high", "Runs in every Python process once installed.", _STARTUP),
    Rule("install-code", "medium", "Runs while the package is built or installed.", _WHEEL),
    Rule("native-extension", "medium", "Compiled code, which this audit cannot read.", _SOURCE),
    Rule("bytecode", "high", "Compiled Python without its source.", "Ask for the source."),
    Rule("nested-archive", "medium", "An archive that was not opened.", "Audit it on its own."),
    Rule("unscanned-file", "high", "Not readable as Python within the limits.", _READ),
    Rule("unsafe-archive", "high", "The archive has unusual entries.", "Do not unpack it."),
    Rule("changed-file", "high", "Differs from the package's record.", "Reinstall and compare."),
    Rule("shadowed-module", "high", "A module with a name of the standard library.", _READ),
    # what the package says of itself
    Rule("undeclared-network", "high", "Uses the network and declares none.", _CORRECT),
    Rule("undeclared-subprocess", "high", "Starts programs and declares none.", _CORRECT),
    Rule("undeclared-file", "high", "Reads a path that is not declared.", _CORRECT),
    Rule("claims-builtin", "high", "Claims to be part of Ludus.", "Do not trust the package."),
    Rule("unreadable-declaration", "low", "SecuritySpec is computed.", "Write it as literals."),
    # what it depends on
    Rule("vulnerability", "high", "A known vulnerability.", "Upgrade to a fixed version."),
    Rule("direct-dependency", "medium", "Not from an index.", "Ask for a released version."),
    Rule("denied-licence", "high", "A licence that is not allowed here.", _LICENCE),
    Rule("unknown-licence", "low", "No licence that a program can tell.", _LOOK_UP),
    Rule("invalid-metadata", "medium", "Breaks its format.", "Do not rely on what is shown."),
    Rule("stale-acceptance", "medium", "Accepts what is not found.", "Remove the entry."),
)

BOOK = RuleBook(
    SEVERITIES,
    _RULES,
    {
        "rule": "rule",
        "severity": "severity",
        "path": "path",
        "line": "line",
        "detail": "message",
        "advice": "advice",
        "accepted": "accepted",
    },
)
RULES = BOOK.rules
