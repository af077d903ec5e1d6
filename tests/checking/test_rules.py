"""Every rule: found where it is broken, alone, and silent when suppressed."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from ludus.checking import RULES, CheckFailed, check_env, check_observation_space, inspect_env
from ludus.checking.rules import known_rules
from tests.checking.broken_envs import BROKEN, MORE_SPACES, Good, with_spec


def _suppress(rule: str) -> tuple[str, ...]:
    return () if rule == "render-untested" else ("render-untested",)


def test_there_is_a_broken_environment_for_every_rule() -> None:
    assert set(BROKEN) == set(RULES)


@pytest.mark.parametrize("rule", RULES)
def test_inspect_finds_exactly_the_broken_rule(rule: str) -> None:
    report = inspect_env(BROKEN[rule](), suppress=_suppress(rule))
    assert {found.rule for found in report.findings} == {rule}, str(report)
    assert {found.severity for found in report.findings} <= {RULES[rule].severity, "error"}
    assert report.ok is (report.findings[-1].severity == "warning")


@pytest.mark.parametrize("rule", RULES)
def test_inspect_leaves_out_suppressed_rules(rule: str) -> None:
    report = inspect_env(BROKEN[rule](), suppress=(*_suppress(rule), rule))
    assert report.findings == ()


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule != "raises"])
def test_check_env_raises_or_warns_as_the_table_says(rule: str) -> None:
    entry = RULES[rule]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        problem: Any = None
        try:
            check_env(BROKEN[rule](), suppress=_suppress(rule))
        except Exception as raised:
            problem = raised
    told = {warning.category for warning in caught if f"[{rule}]" in str(warning.message)}
    if entry.severity == "error" and not entry.extra:
        assert type(problem) is entry.raises
        assert str(problem).endswith(f"[{rule}]")
        assert getattr(problem, "rule", rule) == rule
    else:
        assert told == {entry.category}
        # The old step API warns first, and then leaves nothing to go on with.
        assert type(problem) is (ValueError if rule == "step-old-api" else type(None))
    assert len(caught) == len(
        [warning for warning in caught if f"[{rule}]" in str(warning.message)]
    ), [str(warning.message) for warning in caught]


@pytest.mark.parametrize("rule", RULES)
def test_check_env_is_silent_about_suppressed_rules(rule: str) -> None:
    check_env(BROKEN[rule](), suppress=(*_suppress(rule), rule))


def test_check_env_only_warns_of_exceptions_where_gymnasium_does_not_look() -> None:
    with pytest.warns(UserWarning, match=r"ZeroDivisionError: step nine.*\[raises\]"):
        check_env(BROKEN["raises"](), skip_render_check=True)


def test_check_env_lets_the_environments_own_exceptions_through() -> None:
    class Breaks(Good):
        def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
            raise ZeroDivisionError("at once")

    with pytest.raises(ZeroDivisionError, match="at once"):
        check_env(Breaks(), skip_render_check=True)


@pytest.mark.parametrize("name", MORE_SPACES)
def test_malformed_spaces(name: str) -> None:
    rule, space = MORE_SPACES[name]()
    with pytest.raises(RULES[rule].raises, match=rf"\[{rule}\]"):
        check_observation_space(space)


def test_the_good_environment_is_good() -> None:
    env = with_spec(Good("rgb_array"))
    check_env(env)
    assert inspect_env(env).findings == ()


def test_unknown_rules_are_refused_with_a_suggestion() -> None:
    with pytest.raises(ValueError, match=r"no rule 'obs-alias'.*'obs-aliasing'"):
        check_env(Good(), suppress=["obs-alias"])
    with pytest.raises(ValueError, match="Known: "):
        inspect_env(Good(), suppress=["zzzzzz"])
    assert known_rules("raises") == {"raises"}


def test_rules_are_well_formed() -> None:
    for name, rule in RULES.items():
        assert rule.id == name
        assert rule.severity in ("error", "warning")
        assert rule.hint.endswith(".")
        assert not rule.summary.endswith(".")
        assert set(rule.follows) <= set(RULES)
    assert issubclass(CheckFailed, AssertionError)
