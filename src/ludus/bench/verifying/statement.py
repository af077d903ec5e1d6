"""Verification statements: what a replay of a run has shown, signed.

A statement lists results by their digests, with the chain head of the record that each was compared
with. It says nothing about a result that differs in any field, or about a run with another plan.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from ludus.bench.result import Result
from ludus.errors import BenchError, CodecError, DependencyNotInstalled, RecordError
from ludus.record.format import canonical
from ludus.record.format.event import now
from ludus.record.format.folder import Folder
from ludus.record.format.keys import PublicKey, SigningKey
from ludus.record.replay.provenance import package_source
from ludus.version import __version__

__all__ = [
    "LONGEST",
    "MOST_FINDINGS",
    "NO_RECORD",
    "Finding",
    "Standing",
    "Statement",
    "read_statements",
    "sign_statement",
    "standing",
    "write_statement",
]

MOST_FINDINGS = 2_000
"""Findings of one statement; a larger run has several statements."""
LONGEST = 4 << 20
"""Bytes of one statement."""
NO_RECORD = "0" * 64
"""What a finding has in place of a chain head if the result names none."""
_FORMAT, _VERSION, _ALGORITHM = "ludus.verification", 1, "ed25519"
# So that no signature of another text passes for one of a statement.
_DOMAIN = b"ludus verification statement 1\n"
_MOST_PROBLEMS, _PROBLEM = 4, 300
_BRACKETS = str.maketrans("[]{}", "()()")
_HASH, _SIGNATURE = re.compile("[0-9a-f]{64}"), re.compile("[0-9a-f]{128}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The verdict on one result.

    Attributes:
        id: The unit.
        result: Digest of the result.
        record: Chain head of the record: a hash over its manifest, events and blocks;
            :data:`NO_RECORD` if the result names none.
        source: Hash of the environment's code, or of the task, that executed it again.
        executed: What was executed again, in words.
        verdict: Whether the result follows from the record, and the record from the suite.
        problems: If not, why; at most four.
    """

    id: str
    result: str
    record: str
    source: str | None
    executed: str
    verdict: Literal["verified", "failed"]
    problems: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as plain JSON."""
        plain = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {**plain, "problems": list(self.problems)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """The verdicts on the results of a run, signed with one key.

    Attributes:
        run: Its name.
        plan: Digest of the run's plan: suite, agents and units.
        suite: Name of the suite.
        suite_digest: Hash of the suite's environments.
        created: ISO time in UTC.
        ludus: Version that executed the run again.
        ludus_source: Hash of its source.
        findings: By result.
        public_key: Of the signer.
        signature: Over all of this.
    """

    run: str
    plan: str
    suite: str
    suite_digest: str
    created: str
    ludus: str
    ludus_source: str
    findings: tuple[Finding, ...]
    public_key: str
    signature: str = field(repr=False)

    @property
    def key(self) -> PublicKey:
        """The key that it claims to be of."""
        return PublicKey(self.public_key)

    def is_genuine(self) -> bool:
        """Tell whether the key's owner signed exactly this.

        Raises:
            DependencyNotInstalled: The package ``cryptography`` is missing.
        """
        return self.key.verify(bytes.fromhex(self.signature), _signed_bytes(self.to_dict()))

    def is_covered_by(self, newer: Statement) -> bool:
        """Tell whether a newer statement of the same key is about all results of this one.

        A result of the same unit with another content or record is another result.
        """
        same = (self.run, self.plan, self.public_key) == (newer.run, newer.plan, newer.public_key)
        mine, theirs = (
            {(one.id, one.result, one.record) for one in each.findings} for each in (self, newer)
        )
        return same and self.created < newer.created and mine <= theirs

    def to_dict(self) -> dict[str, Any]:
        """Return the statement as plain JSON."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        fields["findings"] = [one.to_dict() for one in self.findings]
        return {"format": _FORMAT, "version": _VERSION, "algorithm": _ALGORITHM, **fields}

    def to_bytes(self) -> bytes:
        """Return the statement as a line of canonical JSON."""
        return canonical.dumps(self.to_dict()) + b"\n"

    @classmethod
    def from_bytes(cls, content: bytes) -> Statement:
        """Read an untrusted statement; its signature is not checked here.

        Raises:
            BenchError: It is none.
        """
        if len(content) > LONGEST:
            raise BenchError(f"A statement has at most {LONGEST:,} bytes, not {len(content):,}.")
        try:
            return cls.from_dict(canonical.loads(content.removesuffix(b"\n")))
        except CodecError as problem:
            raise BenchError(f"This is no verification statement: {problem}") from None

    @classmethod
    def from_dict(cls, raw: Any) -> Statement:
        """Read what :meth:`to_dict` gave; as :meth:`from_bytes` otherwise."""
        told = _object(raw, cls, more=("format", "version", "algorithm"))
        kind = (told.pop("format"), told.pop("version"), told.pop("algorithm"))
        if kind != (_FORMAT, _VERSION, _ALGORITHM):
            raise BenchError(
                f"This statement is of the format {kind!r:.100}; this Ludus reads "
                f"{(_FORMAT, _VERSION, _ALGORITHM)}."
            )
        rows = told.pop("findings")
        if not isinstance(rows, list) or len(rows) > MOST_FINDINGS:
            raise BenchError(f"A statement lists at most {MOST_FINDINGS} findings.")
        _check(told, _STATEMENT)
        return cls(**told, findings=tuple(map(_finding, rows)))


def sign_statement(
    key: SigningKey,
    findings: Sequence[Finding],
    *,
    run: str,
    plan: str,
    suite: str,
    suite_digest: str,
) -> Statement:
    """Return a signed statement; its fields are those of :class:`Statement`."""
    fields: dict[str, Any] = {
        "run": run,
        "plan": plan,
        "suite": suite,
        "suite_digest": suite_digest,
        "created": now(),
        "ludus": __version__,
        "ludus_source": package_source(),
        "public_key": key.public.hex,
    }
    fields["findings"] = tuple(
        replace(
            one,
            problems=tuple(map(_plain_text, one.problems[:_MOST_PROBLEMS])),
            executed=_plain_text(one.executed),
            # Of a failed result it is whatever the result says.
            source=None if one.source is None else _plain_text(one.source),
        )
        for one in findings
    )
    unsigned = Statement(**fields, signature="")
    return replace(unsigned, signature=key.sign(_signed_bytes(unsigned.to_dict())).hex())


def _plain_text(text: str) -> str:
    """Return a text from untrusted data as short ASCII, so that the statement can be read again.

    Brackets are counted when canonical JSON is read, wherever they are.
    """
    plain = text[:_PROBLEM].encode("ascii", "backslashreplace").decode()
    return plain.translate(_BRACKETS)[:_PROBLEM]


def _signed_bytes(fields: Mapping[str, Any]) -> bytes:
    """Return the bytes that are signed: a hash, so that signing takes constant time."""
    content = {name: value for name, value in fields.items() if name != "signature"}
    return _DOMAIN + hashlib.sha256(canonical.dumps(content)).digest()


def _finding(raw: Any) -> Finding:
    told = _object(raw, Finding)
    problems = told.pop("problems")
    if not isinstance(problems, list) or len(problems) > _MOST_PROBLEMS:
        raise BenchError(f"A finding lists at most {_MOST_PROBLEMS} problems.")
    _check({f"problem {number}": text for number, text in enumerate(problems)}, {})
    _check(told, _FINDING)
    return Finding(**told, problems=tuple(problems))


def _object(raw: Any, kind: type, more: Sequence[str] = ()) -> dict[str, Any]:
    """Return a JSON object that has exactly the fields of a class, and some more."""
    wanted = {*kind.__dataclass_fields__, *more}  # type: ignore[attr-defined]
    if not isinstance(raw, dict) or raw.keys() != wanted:
        raise BenchError(
            f"A {kind.__name__.lower()} of a verification is a JSON object with the fields "
            f"{', '.join(sorted(wanted))}."
        )
    return dict(raw)


def _check(told: Mapping[str, Any], forms: Mapping[str, Callable[[Any], bool]]) -> None:
    for name, value in told.items():
        if not forms.get(name, _is_text)(value):
            raise BenchError(f"A verification cannot have {value!r:.80} as its {name}.")


def _is_text(value: Any) -> bool:
    return type(value) is str and len(value) <= 1_000


def _is_hash(value: Any) -> bool:
    return type(value) is str and _HASH.fullmatch(value) is not None


_STATEMENT: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("plan", "suite_digest", "ludus_source", "public_key"), _is_hash),
    "signature": lambda value: type(value) is str and _SIGNATURE.fullmatch(value) is not None,
}
_FINDING: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("result", "record"), _is_hash),
    "source": lambda value: value is None or _is_text(value),
    "verdict": lambda value: value in ("verified", "failed"),
}


_FOLDER = "verifications"
_NAME = re.compile(r"([0-9a-f]{16})-[0-9a-f]{16}\.json")
_MOST_BYTES = 64 << 20


def read_statements(run: Path, keys: Iterable[PublicKey]) -> list[Statement]:
    """Return the statements in a run's folder that claim to be of one of the keys.

    They are not checked yet. The folder may come from anyone: files that are no statement are
    ignored.
    """
    starts, left = {_start(key) for key in keys}, _MOST_BYTES
    found: list[Statement] = []
    if (run / _FOLDER).is_symlink() or not (run / _FOLDER).is_dir():
        return found
    with suppress(RecordError), Folder(run / _FOLDER) as folder:
        for name in folder.names():
            named = _NAME.fullmatch(name)
            # No more is read than an honest folder holds.
            if named is None or named[1] not in starts or left <= 0:
                continue
            with suppress(BenchError, RecordError):
                content = folder.read(name, LONGEST) or b""
                left -= len(content)
                found.append(Statement.from_bytes(content))
    return found


def write_statement(run: Path, statement: Statement) -> None:
    """Put a statement into a run's folder.

    Earlier statements of the same key are removed if this one covers all their results.

    Raises:
        BenchError: It cannot be written.
    """
    start, content = _start(statement.key), statement.to_bytes()
    own = f"{start}-{hashlib.sha256(content).hexdigest()[:16]}.json"
    try:
        with Folder(run) as folder:
            # Below the open folder, so that no symbolic link leads elsewhere.
            folder.replace(f"{_FOLDER}/{own}", iter([content]))
            for name in (run / _FOLDER).iterdir():
                if name.name.startswith(start) and name.name != own:
                    _drop(folder, f"{_FOLDER}/{name.name}", statement)
    except (OSError, RecordError) as problem:
        raise BenchError(f"No statement can be kept in {run / _FOLDER}: {problem}") from problem


def _drop(folder: Folder, name: str, newer: Statement) -> None:
    """Remove a file named after the statement's key unless it says something more.

    A file that is no genuine statement was put there by someone else.
    """
    try:
        other = Statement.from_bytes(folder.read(name, LONGEST) or b"")
        if other.key == newer.key and other.is_genuine() and not other.is_covered_by(newer):
            return
    except (BenchError, RecordError):
        pass
    with suppress(OSError):
        folder.remove(name)


def _start(key: PublicKey) -> str:
    return key.hex[:16]


_Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Standing:
    """What statements of trusted keys say about results.

    Attributes:
        told: By run and unit, then by the digests of result and record, then by key: the time of
            the statement, and the verdict. A statement about another result or record says nothing.
        suites: Name and digest of the suite, by run and unit.
    """

    told: dict[_Pair, dict[_Pair, dict[str, tuple[str, str]]]] = field(default_factory=dict)
    suites: dict[_Pair, tuple[str, str]] = field(default_factory=dict)

    @property
    def runs(self) -> set[str]:
        """Names of the runs that statements are about."""
        return {run for run, _ in self.told}

    def of(self, result: Result) -> Result:
        """Return the result with its standing."""
        about = self.told.get((result.run, result.id))
        key = result.digest, result.head or NO_RECORD
        said = {} if about is None else about.get(key, {})
        verdicts = {verdict for _, verdict in said.values()}
        if not verdicts:
            return result.marked("claimed")
        return result.marked("failed" if "failed" in verdicts else "verified")

    def missing(self, results: Iterable[Result]) -> set[_Pair]:
        """Return the results that statements are about and that are not among these."""
        return self.told.keys() - {(one.run, one.id) for one in results}


def standing(
    statements: Iterable[Statement], keys: Iterable[PublicKey], *, plan: str | None = None
) -> Standing:
    """Return what statements say, as far as they are genuine and their keys are trusted.

    With ``plan``, the digest of a run's plan, statements about other plans are ignored.
    """
    trusted = set(keys)
    made = Standing()
    for one in statements:
        if one.key not in trusted or plan not in (None, one.plan) or not _passes(one):
            continue
        for found in one.findings:
            unit = made.told.setdefault((one.run, found.id), {})
            made.suites[one.run, found.id] = one.suite, one.suite_digest
            said = unit.setdefault((found.result, found.record), {})
            newest = said.get(one.public_key)
            if newest is None or newest[0] < one.created:
                said[one.public_key] = one.created, found.verdict
    return made


def _passes(statement: Statement) -> bool:
    try:
        return statement.is_genuine()
    except DependencyNotInstalled:
        return False  # no signature can be checked here, so nothing is verified
