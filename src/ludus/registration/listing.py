"""Search and listing of registered environments."""

from __future__ import annotations

from collections import defaultdict

from ludus.core.spec import EnvSpec
from ludus.registration.discovery import load_plugins
from ludus.registration.foreign import adopt_specs
from ludus.registration.table import did_you_mean, registry
from ludus.terminal_text import escaped

__all__ = ["family_of", "pprint_registry", "search"]


def family_of(spec: EnvSpec) -> str:
    """Return the group of a spec: its family, else its namespace, else its package."""
    if spec.family is not None:
        return spec.family
    if spec.namespace is not None:
        return spec.namespace
    if isinstance(spec.entry_point, str):
        parts = spec.entry_point.partition(":")[0].split(".")
        # The family is the third part of "package.envs.family.module".
        if len(parts) > 1:
            return parts[2] if len(parts) > 2 else parts[1]
    return spec.name


def search(text: str = "", *, tag: str | None = None, family: str | None = None) -> list[EnvSpec]:
    """Return the matching specs, sorted by id; plugins are loaded first.

    Args:
        text: Words that must all occur in id, description, tags, family or author, ignoring case.
        tag: Only specs with this tag.
        family: Only specs of this family.

    Raises:
        ValueError: No spec has this tag or family; the message suggests a similar one.

    >>> [spec.id for spec in search("pendulum torque")]
    ['Pendulum-v1']
    """
    load_plugins(everything=True)
    specs = list(adopt_specs().values())
    for label, wanted, known in (
        ("tag", tag, {word for spec in specs for word in spec.tags}),
        ("family", family, {family_of(spec) for spec in specs}),
    ):
        if wanted is not None and wanted not in known:
            raise ValueError(
                f"search({label}={wanted!r}): no environment has this {label}."
                f"{did_you_mean(wanted, known)} Known: {', '.join(sorted(known)) or 'none'}."
            )
    words = text.lower().split()

    def matches(spec: EnvSpec) -> bool:
        fields = [spec.id, spec.description or "", *spec.tags, family_of(spec), spec.author or ""]
        haystack = " ".join(fields).lower()
        return (
            all(word in haystack for word in words)
            and (tag is None or tag in spec.tags)
            and (family is None or family == family_of(spec))
        )

    return sorted(filter(matches, specs), key=lambda spec: spec.id)


def pprint_registry(
    print_registry: dict[str, EnvSpec] = registry,
    *,
    num_cols: int = 3,
    exclude_namespaces: list[str] | None = None,
    disable_print: bool = False,
) -> str | None:
    """Print the registered ids, grouped by namespace or family.

    Args:
        print_registry: The specs; by default the registry, plugins included.
        num_cols: Ids per line.
        exclude_namespaces: Groups to skip.
        disable_print: Return the text instead of printing it.
    """
    if print_registry is registry:
        load_plugins(everything=True)
        adopt_specs()
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for spec in print_registry.values():
        known = isinstance(spec.entry_point, str) or spec.family
        groups[spec.namespace or (family_of(spec) if known else "None")].append(spec.id)
    width = max((len(spec.name) for spec in print_registry.values()), default=0)
    sections = []
    for group, ids in groups.items():
        if exclude_namespaces is not None and group in exclude_namespaces:
            continue
        cells = [env_id.ljust(width) for env_id in sorted(ids)]
        rows = [cells[i : i + num_cols] for i in range(0, len(cells), num_cols)]
        sections.append("\n".join([f"===== {group} =====", *(" ".join(r).rstrip() for r in rows)]))
    # Family names of plugins are untrusted text.
    text = escaped("\n".join(sections))
    if disable_print:
        return text
    print(text)  # noqa: T201 - printing is this function's job
    return None
