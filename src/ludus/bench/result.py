"""The result of one unit of work of a benchmark: one agent, one environment, one seed."""

from __future__ import annotations

import hashlib
import json
import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta
from functools import lru_cache
from numbers import Integral, Real
from pathlib import PurePosixPath
from typing import Any, Literal, TypeAlias, cast, get_args

from ludus.bench.faults import UNSTORABLE, shown

__all__ = ["JSON", "OutcomeKind", "Result", "Verified", "read_json"]


def read_json(text: str, *, parse_constant: Callable[[str], Any] | None = None) -> Any:
    """Return the value of a JSON text in which no object has a key twice.

    ``parse_constant`` is called with NaN, Infinity or -Infinity; by default they are floats.

    Raises:
        ValueError: It is no JSON, or has a key twice in an object.
        RecursionError: It is nested too deep.
    """
    return json.loads(text, object_pairs_hook=_unique, parse_constant=parse_constant)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) == len(pairs):
        return made
    seen = set()
    for key, _ in pairs:
        if key in seen:
            break
        seen.add(key)
    raise ValueError(f"the key {key!r:.60} occurs twice in an object")


JSON: TypeAlias = "bool | int | float | str | list[JSON] | dict[str, JSON] | None"
OutcomeKind = Literal["scored", "agent_fault", "infrastructure_fault"]
Verified = Literal["verified", "claimed", "failed"]

_DEEPEST = 32
_LARGEST = 2**63 - 1  # what every database holds
_HASH = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One unit of work and its outcome: a claim about a record.

    NumPy's numbers are taken and kept as Python's. Every instance survives
    ``Result.from_dict(json.loads(json.dumps(result.to_dict())))`` unchanged, but for ``verified``:
    no file decides that. :mod:`ludus.bench.verifying.statement` sets it from signed statements.

    Args:
        id: the same for the same work: made from suite, agent, environment, seed and budget.
        run: name of the bench run it belongs to.
        suite: name of the suite.
        suite_digest: hash of the suite's content.
        agent: name of the agent.
        env: full id with version.
        seed: of the unit.
        outcome: an agent's fault is a result, an infrastructure fault is the lack of one.
        score: mean return over the unit's episodes, or the submission's; ``None`` after a fault.
        best_score: of the best attempt, where there are several, else the score.
        episodes: that were finished.
        steps: that were made.
        seconds: that it took.
        cost: money that was spent.
        budget: JSON of an object; kept in canonical form, so that equal budgets are equal texts.
        reason: of a fault; characters that no database holds are replaced.
        source_hash: of the environment's source.
        record: path of the run folder, relative to the bench run's folder.
        head: chain head of that run folder.
        verified: ``"verified"`` or ``"failed"`` if a statement about exactly this result, signed
            with a trusted key, says so; else ``"claimed"``.
        created: ISO time in UTC.
        extra: plain JSON; ``returns`` per episode, ``curve`` as pairs of step and value.

    Raises:
        ValueError: if a field is not what it has to be; the message names it.
    """

    id: str
    run: str
    suite: str
    suite_digest: str
    agent: str
    env: str
    seed: int
    outcome: OutcomeKind
    score: float | None
    best_score: float | None
    episodes: int
    steps: int
    seconds: float
    cost: float
    budget: str
    reason: str | None
    source_hash: str | None
    record: str | None
    head: str | None
    created: str
    extra: Mapping[str, JSON] = field(default_factory=dict, hash=False)
    verified: Verified = "claimed"

    def __post_init__(self) -> None:
        for name, clean in _CLEANERS.items():
            try:
                value = clean(getattr(self, name))
            except (TypeError, ValueError, OverflowError, RecursionError) as error:
                raise ValueError(
                    f"The result's {name} is wrong: {error}; got {shown(getattr(self, name))}."
                ) from error
            object.__setattr__(self, name, value)
        self._check_outcome()

    @property
    def lives(self) -> int:
        """How often the unit began: more than once if it could not be resumed after a fault."""
        lives = self.extra.get("lives", 1)
        return lives if type(lives) is int and lives > 1 else 1

    @property
    def digest(self) -> str:
        """The SHA-256 of everything the result claims; what statements refer to it by."""
        claimed = {name: getattr(self, name) for name in _CLAIMED}
        text = json.dumps(claimed, sort_keys=True, separators=(",", ":"), allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()

    def to_dict(self) -> dict[str, JSON]:
        """Return what the result claims as a plain JSON object, fields in their order."""
        plain = {name: getattr(self, name) for name in _CLAIMED}
        return {**plain, "extra": json.loads(json.dumps(self.extra))}

    def marked(self, verified: Verified) -> Result:
        """Return the result with what it counts as; its other fields are not checked again."""
        made = object.__new__(Result)
        for name in _CLAIMED:
            object.__setattr__(made, name, getattr(self, name))
        object.__setattr__(made, "verified", _one_of(get_args(Verified))(verified))
        return made

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Result:
        """Read what :meth:`to_dict` gave; a field ``verified``, which older files have, is ignored.

        Raises:
            ValueError: if fields are missing, unknown or wrong; the message names them.
        """
        if not isinstance(data, Mapping):
            raise ValueError(f"A result is a JSON object, not {shown(data)}.")
        known = set(_CLAIMED)
        missing = sorted(known - {"extra"} - data.keys())
        unknown = sorted(map(str, data.keys() - known - {"verified"}))
        if missing or unknown:
            raise ValueError(f"A result lacks the fields {missing} and has unknown ones {unknown}.")
        return cls(**{name: data[name] for name in known & data.keys()})

    def _check_outcome(self) -> None:
        scored = self.outcome == "scored"
        wrong = None
        if scored and (self.score is None or self.best_score is None):
            wrong = "outcome 'scored' needs score and best_score"
        elif scored and self.reason is not None:
            wrong = "outcome 'scored' has no reason; reasons are for faults"
        elif not scored and self.score is not None:
            wrong = f"outcome {self.outcome!r} has no score; give None"
        elif not scored and not self.reason:
            wrong = f"outcome {self.outcome!r} needs a reason"
        elif self.outcome == "infrastructure_fault" and self.best_score is not None:
            wrong = "an infrastructure fault says nothing about the agent; best_score must be None"
        if wrong:
            raise ValueError(f"The result of {self.agent!r} on {self.env!r} is wrong: {wrong}.")


_CLAIMED = tuple(one.name for one in fields(Result) if one.name != "verified")


def _text(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError("a text that is not empty is expected")
    if UNSTORABLE.search(value):
        raise ValueError("it holds NUL or a lone surrogate, which no database stores")
    return str(value)


def _count(value: object) -> int:
    if isinstance(value, bool):
        raise ValueError("an integer is expected")
    number = operator.index(cast("Any", value))
    if not 0 <= number <= _LARGEST:
        raise ValueError(f"an integer from 0 to {_LARGEST} is expected")
    return number


def _number(value: object) -> float:
    if type(value) is not float and (isinstance(value, bool) or not isinstance(value, Real)):
        raise ValueError("a number is expected")
    number = float(cast("float", value))
    if not math.isfinite(number):
        raise ValueError("a finite number is expected")
    return number + 0.0  # not every database knows a negative zero


def _amount(value: object) -> float:
    number = _number(value)
    if number < 0:
        raise ValueError("a number of at least 0 is expected")
    return number


@lru_cache(maxsize=256)  # many results, few budgets
def _canonical_budget(text: str) -> str:
    budget = read_json(text)
    if not isinstance(budget, dict):
        raise ValueError("JSON of an object is expected")
    return json.dumps(
        _plain(budget), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def _budget(value: object) -> str:
    return _canonical_budget(_text(value))


def _reason(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("a text is expected")
    return UNSTORABLE.sub("\ufffd", value)


def _record(value: object) -> str:
    path = PurePosixPath(_text(value))
    if path.is_absolute() or ".." in path.parts or "\\" in str(value):
        raise ValueError("a path below the bench run's folder is expected, with '/' between")
    return str(path)


def _head(value: object) -> str:
    if not _HASH.fullmatch(_text(value)):
        raise ValueError("64 hexadecimal digits in lower case are expected")
    return str(value)


def _time(value: object) -> str:
    text = _text(value)
    if datetime.fromisoformat(text).utcoffset() != timedelta(0):
        raise ValueError("an ISO time in UTC is expected, such as 2026-01-31T12:00:00Z")
    return text


def _one_of(choices: tuple[str, ...]) -> Callable[[object], str]:
    def clean(value: object) -> str:
        if value not in choices:
            raise ValueError(f"one of {', '.join(choices)} is expected")
        return str(value)

    return clean


def _optional(clean: Callable[[object], Any]) -> Callable[[object], Any]:
    return lambda value: None if value is None else clean(value)


def _plain(value: object, depth: int = 0) -> JSON:
    if depth > _DEEPEST:
        raise ValueError(f"it is nested deeper than {_DEEPEST}")
    match value:
        case None | bool():
            return value
        case str():
            return _text(value) if value else ""
        case float():
            return _number(value)
        case Integral():
            return int(value)
        case Real():
            return _number(value)
        case list() | tuple():
            return [_plain(item, depth + 1) for item in value]
        case Mapping():
            return {_text(key): _plain(item, depth + 1) for key, item in value.items()}
    raise ValueError(f"plain JSON is expected, and it holds a {type(value).__name__}")


def _extra(value: object) -> dict[str, JSON]:
    if not isinstance(value, Mapping):
        raise ValueError("a mapping is expected")
    return cast("dict[str, JSON]", _plain(value))


_CLEANERS: dict[str, Callable[[object], Any]] = {
    **dict.fromkeys(("id", "run", "suite", "suite_digest", "agent", "env"), _text),
    **dict.fromkeys(("seed", "episodes", "steps"), _count),
    **dict.fromkeys(("score", "best_score"), _optional(_number)),
    **dict.fromkeys(("seconds", "cost"), _amount),
    "outcome": _one_of(get_args(OutcomeKind)),
    "budget": _budget,
    "reason": _optional(_reason),
    "source_hash": _optional(_text),
    "record": _optional(_record),
    "head": _optional(_head),
    "verified": _one_of(get_args(Verified)),
    "created": _time,
    "extra": _extra,
}
