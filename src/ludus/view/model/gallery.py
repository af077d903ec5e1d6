"""The registered environments: search, families, versions, and what their specs say.

Nothing of an environment is imported or made here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ludus.core.ids import get_env_id
from ludus.core.spec import EnvSpec
from ludus.envs.builtin import BUILTIN
from ludus.errors import ViewError
from ludus.registration.listing import family_of, search
from ludus.registration.table import find_highest_version

__all__ = ["PROOF", "Facet", "Listing", "facts_of", "find_env", "is_drawn", "list_envs", "versions"]

PROOF = "not proved"
"""Proof status of every environment for now."""
_TAGS = 24
_RANKS = {family: at for at, family in enumerate(dict.fromkeys(map(family_of, BUILTIN)))}


@dataclass(frozen=True, slots=True)
class Facet:
    """A value to filter by, and how many environments have it."""

    name: str
    count: int


@dataclass(frozen=True, slots=True)
class Listing:
    """Environments that match, and what they can be filtered by.

    Attributes:
        specs: Built-in families first, in the order of their table, each sorted by id.
        families: Of all environments.
        tags: The most frequent of those that match.
        total: All environments there are.
    """

    specs: Sequence[EnvSpec]
    families: Sequence[Facet]
    tags: Sequence[Facet]
    total: int


def list_envs(text: str = "", *, family: str = "", tag: str = "", latest: bool = False) -> Listing:
    """Search the registered environments; an unknown family or tag matches none.

    Args:
        text: Words that must all occur in id, description, tags, family or author.
        family: Only this family.
        tag: Only with this tag.
        latest: Only the latest version of each.
    """
    everything = search()
    families = Counter(map(family_of, everything))
    matching = search(text) if text else everything
    if family:
        matching = [spec for spec in matching if family_of(spec) == family]
    if latest:
        matching = [spec for spec in matching if _is_latest(spec)]
    tags = Counter(one for spec in matching for one in spec.tags)
    if tag:
        matching = [spec for spec in matching if tag in spec.tags]
    return Listing(
        sorted(matching, key=_place),
        [Facet(name, count) for name, count in sorted(families.items())],
        [Facet(name, count) for name, count in tags.most_common(_TAGS)],
        len(everything),
    )


def find_env(env_id: str) -> EnvSpec:
    """Return the spec of an id; raises ``ViewError`` if it is not registered.

    The id is looked for among those of the gallery: a lookup by :func:`ludus.spec` imports the
    package that an unknown id names, and any page can have a link with an id.
    """
    found = next((spec for spec in search() if spec.id == env_id), None)
    if found is None:
        raise ViewError("There is no environment of this id.")
    return found


def versions(spec: EnvSpec) -> list[EnvSpec]:
    """Return all versions of an environment, the latest first."""
    same = [one for one in search() if (one.namespace, one.name) == (spec.namespace, spec.name)]
    return sorted(same, key=lambda one: -1 if one.version is None else one.version, reverse=True)


def is_drawn(spec: EnvSpec) -> bool:
    """Whether it is worth trying to draw an environment: tasks of research agents show nothing."""
    return family_of(spec) != "research"


def facts_of(spec: EnvSpec) -> list[tuple[str, str]]:
    """Return what a spec says, as pairs of a name and a text; empty ones are left out."""
    rows: Mapping[str, Any] = {
        "Reward scale": spec.reward_scale,
        "Solved at a return of": spec.reward_threshold,
        "Longest episode": _steps(spec.max_episode_steps),
        "Deterministic": "no" if spec.nondeterministic else "yes, given seed and actions",
        "Tags": ", ".join(spec.tags),
        "Author": spec.author,
        "Licence": spec.licence,
        "Entry point": spec.entry_point if isinstance(spec.entry_point, str) else "a callable",
        "Compiled or own batch": "yes" if spec.vector_entry_point else "",
        "Wrappers": ", ".join(one.name for one in spec.additional_wrappers),
        "Arguments it is registered with": _written(spec.kwargs),
    }
    return [(name, f"{value}") for name, value in rows.items() if value not in (None, "")]


def _steps(limit: int | None) -> str:
    return "no limit" if limit is None else f"{limit:,} steps"


def _written(kwargs: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value!r:.100}" for name, value in kwargs.items())


def _place(spec: EnvSpec) -> tuple[int, str, str]:
    """Return where a spec is listed: what others have registered comes after Ludus's families."""
    family = family_of(spec)
    return (_RANKS.get(family, len(_RANKS)), family, spec.id)


def _is_latest(spec: EnvSpec) -> bool:
    highest = find_highest_version(spec.namespace, spec.name)
    return highest is None or spec.id == get_env_id(spec.namespace, spec.name, highest)
