"""Complete check of an environment."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import replace
from typing import Any

import numpy as np

from ludus import logger
from ludus.checking.episode import aliasing_findings, episode_findings, state_findings
from ludus.checking.findings import Findings, enforce, finding
from ludus.checking.passive import passive_reset_findings, passive_step_findings
from ludus.checking.render import modes_findings, render_findings
from ludus.checking.reset import (
    options_findings,
    return_info_findings,
    return_type_findings,
    seed_determinism_findings,
    seed_method_findings,
)
from ludus.checking.rules import BOOK, RULES, known_rules
from ludus.checking.spaces import foreign_advice, limit_findings, space_findings
from ludus.checking.step import reuse_findings, step_determinism_findings
from ludus.core.env import Env
from ludus.findings import Finding, Report

__all__ = ["check_env", "inspect_env"]

Check = Callable[[Env[Any, Any]], Findings[Any]]

_EXTRA: tuple[Check, ...] = (
    episode_findings,
    state_findings,
    # Last, because it corrupts an environment that violates the rule.
    aliasing_findings,
)
"""Checks that Gymnasium does not have."""


def check_env(
    env: Env[Any, Any],
    warn: bool | None = None,
    skip_render_check: bool = False,
    skip_close_check: bool = False,
    *,
    suppress: Iterable[str] = (),
) -> None:
    """Check that an environment follows the ``Env`` API; raise errors and issue warnings.

    The environment is reset and stepped many times. :data:`~ludus.checking.RULES` lists the rules;
    the first violation with severity error ends the check. Rules that Gymnasium does not have
    (``extra``) only give warnings, so that an environment that passes Gymnasium's check passes this
    one; under the import alias they are skipped.

    Args:
        env: The environment, without wrappers.
        warn: Ignored; for compatibility with Gymnasium.
        skip_render_check: Skip the rules about rendering.
        skip_close_check: Skip the rule about closing twice.
        suppress: Ids of rules to skip; ``"raises"`` ignores exceptions of the environment.

    Raises:
        CheckFailed: A rule is violated; an ``AssertionError`` with the rule's id.
        TypeError: ``env`` is not an environment, or a space is not a space.
        AttributeError: A space is missing.
        Error: ``reset`` does not accept ``seed`` or ``options``.
        ValueError: ``suppress`` has an unknown rule, or ``step`` returns one flag instead of two.

    >>> import ludus
    >>> check_env(ludus.make("FrozenLake-v1").unwrapped, skip_render_check=True)
    """
    ignored = known_rules(suppress)
    if warn is not None:
        logger.warn("`check_env(warn=...)` parameter is now ignored.")
    checks = _checks(skip_render_check, skip_close_check)
    enforce(_advised(_run(env, checks, catch="raises" in ignored)), ignored)


def inspect_env(
    env: Env[Any, Any],
    *,
    skip_render_check: bool = False,
    skip_close_check: bool = False,
    suppress: Iterable[str] = (),
) -> Report:
    """Check like :func:`check_env`, but return a report of all violations.

    Args:
        env: The environment.
        skip_render_check: Skip the rules about rendering.
        skip_close_check: Skip the rule about closing twice.
        suppress: Ids of rules to skip.

    Raises:
        ValueError: ``suppress`` has an unknown rule.

    >>> import ludus
    >>> report = inspect_env(ludus.make("FrozenLake-v1").unwrapped, skip_render_check=True)
    >>> report.ok, report.findings
    (True, ())
    """
    ignored = known_rules(suppress)
    found: list[Finding] = []
    notes: list[str] = []
    for item in _run(env, _checks(skip_render_check, skip_close_check), catch=True):
        if item.rule in ignored:
            continue
        if item.severity == "note":
            notes.append(f"{item.rule} not checked: {item.message}")
        elif not _is_repetition(item, found):
            found.append(item)
    return BOOK.report(str(env), found, notes)


def _advised(findings: Findings[None]) -> Findings[None]:
    """Turn errors under rules that Gymnasium does not have into warnings."""
    with closing(findings):
        for item in findings:
            demoted = RULES[item.rule].extra and item.severity == "error"
            yield replace(item, severity="warning") if demoted else item


def _is_repetition(item: Finding, found: list[Finding]) -> bool:
    # The passive checks repeat active ones, with lower severity.
    return any(
        item.rule == other.rule
        and (
            item.message == other.message or (item.severity, other.severity) == ("warning", "error")
        )
        for other in found
    )


def _run(env: Env[Any, Any], checks: Iterable[Check], *, catch: bool) -> Findings[None]:
    """Run the checks in order, until a finding makes further checks impossible."""
    broken: set[str] = set()
    for check in (_subject_findings, *checks):
        blocked = False
        try:
            with closing(check(env)) as found:
                for item in found:
                    rule = RULES[item.rule]
                    if broken.isdisjoint(rule.follows):
                        yield item
                    if item.severity != "note":
                        broken.add(item.rule)
                    blocked |= rule.blocks and item.severity == "error"
        except Exception as problem:  # the environment's code can raise anything
            if not (catch or check in _EXTRA):
                raise
            yield finding("raises", _raised(check, problem))
            blocked = True
        if blocked:
            return
        if check is _subject_findings:
            env = _with_numpy_data(env)


def _raised(check: Check, problem: Exception) -> str:
    name = check.__name__.strip("_").removesuffix("_findings").replace("_", " ")
    return f"While checking {name}, the environment raised {type(problem).__name__}: {problem}."


def _checks(skip_render: bool, skip_close: bool) -> tuple[Check, ...]:
    return (
        _spaces_findings,
        seed_method_findings,
        return_info_findings,
        return_type_findings,
        seed_determinism_findings,
        options_findings,
        passive_reset_findings,
        _passive_first_step_findings,
        step_determinism_findings,
        reuse_findings,
        *(() if skip_render else (_render_modes_findings,)),
        *(() if skip_close else (_close_findings,)),
        *(() if logger.as_gymnasium else _EXTRA),
    )


def _subject_findings(env: Any) -> Findings[None]:
    if not isinstance(env, Env):
        yield finding(
            "not-an-env",
            f"The environment must inherit from the ludus.Env class, actual class: {type(env)}."
            f"{foreign_advice(env)}",
        )
    elif env.unwrapped is not env:
        yield finding(
            "wrapped-env",
            f"The environment ({env}) is different from the unwrapped version ({env.unwrapped}); "
            "the findings are about both together.",
        )


_ARRAY_MODULES = {"jax": "jax.numpy", "torch": "torch"}


def _with_numpy_data(env: Env[Any, Any]) -> Env[Any, Any]:
    for framework, module in _ARRAY_MODULES.items():
        if env.metadata.get(framework, False):
            # Imported by name, because the wrappers depend on this package.
            convert = importlib.import_module("ludus.wrappers").ArrayConversion
            return convert(  # type: ignore[no-any-return]
                env, env_xp=importlib.import_module(module), target_xp=np
            )
    return env


def _spaces_findings(env: Env[Any, Any]) -> Findings[None]:
    for kind in ("action", "observation"):
        if not hasattr(env, f"{kind}_space"):
            yield finding("missing-space", f"The environment must specify an {kind} space.")
            continue
        space = getattr(env, f"{kind}_space")
        found = list(space_findings(space, kind))
        yield from found
        if not any(item.severity == "error" for item in found):
            yield from limit_findings(space, kind)


def _passive_first_step_findings(env: Env[Any, Any]) -> Findings[None]:
    yield from passive_step_findings(env, env.action_space.sample())


def _render_modes_findings(env: Env[Any, Any]) -> Findings[None]:
    if env.render_mode is not None:
        yield from render_findings(env)
    if env.spec is None:
        yield finding(
            "render-untested",
            "Not able to test alternative render modes due to the environment not having a spec.",
        )
        return
    modes = env.metadata.get("render_modes")
    yield from modes_findings(modes)
    for mode in modes or ():
        with closing(env.spec.make(render_mode=mode)) as other:
            other.reset()
            yield from render_findings(other)


def _close_findings(env: Env[Any, Any]) -> Findings[None]:
    if env.spec is None:
        return
    other = env.spec.make()
    other.close()
    try:
        other.close()
    except Exception as problem:  # the environment's code can raise anything
        yield finding(
            "close-twice",
            "Calling `env.close()` on the closed environment should be allowed, but it raised an "
            f"exception: {problem!r}.",
        )
