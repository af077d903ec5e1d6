"""Broken environments, built on both libraries: both checkers say the same about them.

Exceptions agree in type, warnings in the set of categories, and both texts hold the words that a
caller's test would look for. What Ludus checks beyond Gymnasium is suppressed here.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import ludus
from ludus.checking import RULES

gymnasium = pytest.importorskip("gymnasium")
pytest.importorskip("gymnasium.utils.env_checker")

LIBS = (gymnasium, ludus)
EXTRA = [rule.id for rule in RULES.values() if rule.extra and rule.id != "raises"]


def good_class(lib: ModuleType, **members: Any) -> type[Any]:
    """Return the class of a faultless environment on ``lib``, some of its members replaced."""

    class Good(lib.Env):  # type: ignore[name-defined, misc]
        metadata = {"render_modes": ["rgb_array", "ansi"], "render_fps": 10}

        def __init__(self, render_mode: str | None = None) -> None:
            self.render_mode = render_mode
            self.observation_space = lib.spaces.Box(-10.0, 10.0, (2,), np.float32)
            self.action_space = lib.spaces.Box(-1.0, 1.0, (2,), np.float32)
            self.position = np.zeros(2, np.float32)
            self.steps = 0

        def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
            super().reset(seed=seed)
            self.position = self.np_random.uniform(-1, 1, 2).astype(np.float32)
            self.steps = 0
            return self.observe(), self.info()

        def step(self, action: Any) -> Any:
            moved = self.position + self.np_random.normal(0, 0.1, 2)
            self.position = np.clip(moved, -10, 10).astype(np.float32)
            self.steps += 1
            return self.observe(), self.reward(), *self.flags(), self.info()

        def observe(self) -> Any:
            return self.position.copy()

        def reward(self) -> Any:
            return -1.0

        def flags(self) -> tuple[Any, ...]:
            return self.steps >= 15, False

        def info(self) -> Any:
            return {"steps": self.steps}

        def render(self) -> Any:
            return np.zeros((4, 5, 3), np.uint8) if self.render_mode == "rgb_array" else "text"

    for name, value in members.items():
        setattr(Good, name, value)
    return Good


Build = Callable[[ModuleType], Any]


def having(**members: Any) -> Build:
    """Replace members of the class."""
    return lambda lib: good_class(lib, **members)()


def with_spec(**members: Any) -> Build:
    """Replace members, and give the environment a spec that builds it again."""

    def build(lib: ModuleType) -> Any:
        kind = good_class(lib, **members)
        env = kind()
        spec = lib.envs.registration.EnvSpec if lib is gymnasium else lib.EnvSpec
        env.spec = spec("Broken-v0", kind, disable_env_checker=True, order_enforce=False)
        return env

    return build


def rendering(mode: str, **members: Any) -> Build:
    """Replace members of an environment in the given render mode."""

    def build(lib: ModuleType) -> Any:
        env = good_class(lib, **members)()
        env.render_mode = mode
        return env

    return build


def spaces(observation: Any = None, action: Any = None, **members: Any) -> Build:
    """Replace spaces, each given as a function of the library's ``spaces``."""

    def build(lib: ModuleType) -> Any:
        env = good_class(lib, **members)()
        if observation is not None:
            env.observation_space = observation(lib.spaces)
        if action is not None:
            env.action_space = action(lib.spaces)
        return env

    return build


def lacking(attribute: str) -> Build:
    """Delete an attribute of the instance."""

    def build(lib: ModuleType) -> Any:
        env = good_class(lib)()
        delattr(env, attribute)
        return env

    return build


def changed(space: Any, **attributes: Any) -> Any:
    """Return the space with attributes its constructor would have refused."""
    for name, value in attributes.items():
        setattr(space, name, value)
    return space


def _reset(self: Any, seed: int | None = None) -> Any:
    """Do what a faultless ``reset`` does."""
    super(type(self), self).reset(seed=seed)
    self.position = self.np_random.uniform(-1, 1, 2).astype(np.float32)
    self.steps = 0
    return self.observe(), self.info()


def _no_seed(self: Any, *, options: Any = None) -> Any:
    return _reset(self)


def _no_options(self: Any, *, seed: Any = None) -> Any:
    return _reset(self, seed)


def _kwargs(self: Any, **kwargs: Any) -> Any:
    return _reset(self, kwargs.get("seed"))


def _default_seed(self: Any, *, seed: int = 7, options: Any = None) -> Any:
    return _reset(self, seed)


def _return_info(
    self: Any, *, seed: Any = None, options: Any = None, return_info: bool = True
) -> Any:
    return _reset(self, seed)


def _refuses_seed(self: Any, *, seed: Any = None, options: Any = None) -> Any:
    if seed is not None:
        raise TypeError("no seeds here")
    return _reset(self)


def _refuses_options(self: Any, *, seed: Any = None, options: Any = None) -> Any:
    if options is not None:
        raise TypeError("no options here")
    return _reset(self, seed)


def _fixed_seed(self: Any, *, seed: Any = None, options: Any = None) -> Any:
    return _reset(self, 1)


def _fresh_generator(self: Any, *, seed: Any = None, options: Any = None) -> Any:
    self._np_random = np.random.default_rng()
    return self.observe(), self.info()


def _without_super(self: Any, *, seed: Any = None, options: Any = None) -> Any:
    return self.observe(), self.info()


def _raising(self: Any, *, seed: Any = None, options: Any = None) -> Any:
    raise ZeroDivisionError("broken reset")


def _returning(change: Callable[[Any, Any], Any]) -> Any:
    def reset(self: Any, *, seed: Any = None, options: Any = None) -> Any:
        return change(*_reset(self, seed))

    return reset


def _counting(amount: float) -> Any:
    def reset(self: Any, *, seed: Any = None, options: Any = None) -> Any:
        obs, info = _reset(self, seed)
        self.resets = getattr(self, "resets", 0) + 1
        return obs + np.float32(amount * self.resets), info

    return reset


def _life(self: Any) -> int:
    self.life = getattr(self, "life", 0) + 1
    return self.life


def _dict_space(s: Any) -> Any:
    return s.Dict({"a": s.Discrete(5)})


def _tuple_space(s: Any) -> Any:
    return s.Tuple((s.Discrete(5), s.Discrete(5)))


CASES: dict[str, tuple[Build, str]] = {
    "good": (having(), ""),
    "good with spec": (with_spec(), ""),
    "good with kwargs": (having(reset=_kwargs), ""),
    "good rendering": (rendering("ansi"), ""),
    "wrapped": (lambda lib: lib.Wrapper(good_class(lib)()), "different from the unwrapped"),
    "not an env": (lambda lib: object(), "must inherit from the .*Env class"),
    # Spaces
    "no action space": (lacking("action_space"), "must specify an action space"),
    "no observation space": (lacking("observation_space"), "must specify an observation space"),
    "action space a string": (spaces(action=lambda s: "Box"), "action space does not inherit"),
    "observation space None": (spaces(lambda s: 3), "observation space does not inherit"),
    "equal bounds": (
        spaces(lambda s: s.Box(np.float32([-10, 0]), np.float32([10, 0]), dtype=np.float32)),
        "observation space maximum and minimum values are equal",
    ),
    "equal action bounds": (
        spaces(action=lambda s: s.Box(0.0, 0.0, (1,), np.float32)),
        "action space maximum and minimum values are equal",
    ),
    "inverted bounds": (
        spaces(lambda s: changed(s.Box(-1.0, 1.0, (2,)), low=np.full(2, 2, np.float32))),
        "low value is greater than a high value",
    ),
    "infinite observations": (
        spaces(lambda s: s.Box(-np.inf, np.inf, (2,), np.float32)),
        "observation space minimum value is -infinity.*maximum value is infinity",
    ),
    "infinite actions": (
        spaces(action=lambda s: s.Box(-np.inf, np.inf, (2,), np.float32)),
        "action space minimum value is -infinity",
    ),
    "half normalized": (
        spaces(action=lambda s: s.Box(-0.5, 1.0, (2,), np.float32)),
        "symmetric and normalized space",
    ),
    "picture of actions": (spaces(action=lambda s: s.Box(-5.0, 9.0, (2, 2), np.float32)), ""),
    "low of another shape": (
        spaces(lambda s: changed(s.Box(-1.0, 1.0, (2,)), low=np.zeros(3))),
        "low shape have (have )?different shapes",
    ),
    "high of another shape": (
        spaces(action=lambda s: changed(s.Box(-1.0, 1.0, (2,)), high=np.ones((2, 1)))),
        "high shape have (have )?different shapes",
    ),
    "discrete of none": (
        spaces(action=lambda s: changed(s.Discrete(2), n=np.int64(0))),
        "number of elements must be positive",
    ),
    "multi-discrete of none": (
        spaces(action=lambda s: changed(s.MultiDiscrete([2, 2]), nvec=np.array([2, 0]))),
        "nvec elements must be greater than 0",
    ),
    "empty tuple": (spaces(lambda s: s.Tuple(())), "empty Tuple observation space"),
    "empty dict": (spaces(lambda s: s.Dict({})), "empty Dict observation space"),
    "infinite inside": (
        spaces(
            lambda s: s.Dict({"a": s.Box(-np.inf, 1.0, (2,), np.float32)}),
            observe=lambda self: {"a": np.zeros(2, np.float32)},
        ),
        "minimum value is -infinity",
    ),
    # reset
    "seed method": (having(seed=lambda self, seed=None: None), "Official support for the `seed`"),
    "return_info": (having(reset=_return_info), "`return_info` is deprecated"),
    "reset without seed": (having(reset=_no_seed), "does not provide a `seed` or `\\*\\*kwargs`"),
    "reset without options": (having(reset=_no_options), "does not provide an? `options`"),
    "default seed": (having(reset=_default_seed), "default seed argument .* should be `None`"),
    "reset refuses seeds": (having(reset=_refuses_seed), "cannot be reset with a random seed"),
    "reset refuses options": (having(reset=_refuses_options), "cannot be reset with options"),
    "reset with a fixed seed": (having(reset=_fixed_seed), "does not call `super\\(\\).reset"),
    "reset with new generators": (having(reset=_fresh_generator), "does not call `super\\(\\)"),
    "reset without super": (having(reset=_without_super), "does not call `super\\(\\).reset"),
    "reset raises": (having(reset=_raising), "broken reset"),
    "reset returns obs": (
        having(reset=_returning(lambda obs, info: obs)),
        "was not a tuple of the form `\\(obs, info\\)`",
    ),
    "reset returns three": (
        having(reset=_returning(lambda obs, info: (obs, info, 1))),
        "2-tuple, actual length: 3",
    ),
    "reset info a list": (
        having(reset=_returning(lambda obs, info: (obs, []))),
        "second element returned by `env.reset\\(\\)` was not a dictionary",
    ),
    "reset obs outside": (
        having(reset=_returning(lambda obs, info: (obs + 99, info))),
        "`env.reset\\(\\)` is not within the observation space",
    ),
    "reset varies": (with_spec(reset=_counting(0.1)), "non-deterministic as the observations"),
    "reset varies without a spec": (having(reset=_counting(0.1)), ""),
    "reset varies a little": (
        with_spec(reset=_counting(1e-7)),
        "observations are not equal although similar",
    ),
    # step
    "old step API": (having(flags=lambda self: (False,)), "old step API"),
    "step of three": (having(step=lambda self, a: (1, 2, 3)), "four or five element tuple"),
    "step of a list": (having(step=lambda self, a: [1, 2, 3, 4, 5]), "to be a tuple"),
    "step raises": (having(reward=lambda self: 1 / 0), "division by zero"),
    "terminated an int": (
        having(flags=lambda self: (0, False)),
        "`terminated` signal to be a bool",
    ),
    "terminated None": (having(flags=lambda self: (None, False)), "`terminated` signal"),
    "reward an array": (having(reward=lambda self: np.zeros(1)), "must be a float, int"),
    "reward a string": (having(reward=lambda self: "1"), "must be a float, int"),
    "reward a bool": (having(reward=lambda self: True), "must be a float, int"),
    "reward float16": (having(reward=lambda self: np.float16(1)), ""),
    "reward NaN": (having(reward=lambda self: float("nan")), "NaN value"),
    "reward infinite": (having(reward=lambda self: np.float32("inf")), "inf value"),
    "step info None": (
        having(info=lambda self: None if self.steps else {}),
        "`info` returned by `step\\(\\)` must be a python dictionary",
    ),
    "step varies": (having(reward=lambda self: float(_life(self))), "rewards are not equivalent"),
    "step varies a little": (
        having(observe=lambda self: self.position + np.float32(1e-7 * (_life(self) % 64))),
        "although similar",
    ),
    "termination varies": (
        having(flags=lambda self: (_life(self) % 2 == 0, False)),
        "termination are not equivalent",
    ),
    "info varies": (having(info=lambda self: {"x": _life(self)}), "info are not equivalent"),
    "truncated at once": (having(flags=lambda self: (False, True)), "truncates after 1 step"),
    "step without generator": (
        having(reward=lambda self: float(np.random.default_rng(0).random())),
        "",
    ),
    # Observations
    "obs outside later": (
        having(observe=lambda self: self.position + np.float32(99 * self.steps)),
        "obs returned by the `step\\(\\)` method is not within the observation space",
    ),
    "obs of float64": (
        having(observe=lambda self: self.position.astype(np.float64)),
        "not within the observation space",
    ),
    "obs of float16": (
        having(observe=lambda self: self.position.astype(np.float16)),
        "numpy array dtype to be float32, actual type: float16",
    ),
    "obs a list": (having(observe=lambda self: self.position.tolist()), "expecting a numpy array"),
    "discrete as int32": (
        spaces(lambda s: s.Discrete(5), observe=lambda self: np.int32(3)),
        "should be an int or np.int64",
    ),
    "discrete as float": (
        spaces(lambda s: s.Discrete(5), observe=lambda self: 3.0),
        "not within the observation space",
    ),
    "multi-discrete as list": (
        spaces(lambda s: s.MultiDiscrete([5, 5]), observe=lambda self: [1, 2]),
        "was expecting a numpy array",
    ),
    "multi-binary as list": (
        spaces(lambda s: s.MultiBinary(2), observe=lambda self: [1, 0]),
        "was expecting a numpy array",
    ),
    "tuple as list": (
        spaces(_tuple_space, observe=lambda self: [1, 2]),
        "was expecting a tuple",
    ),
    "tuple of another length later": (
        spaces(_tuple_space, observe=lambda self: (1, 2) if not self.steps else (1,)),
        "not same as the observation space length",
    ),
    "dict as tuple later": (
        spaces(_dict_space, observe=lambda self: {"a": 1} if not self.steps else (1,)),
        "must be a dict",
    ),
    "dict with another key later": (
        spaces(_dict_space, observe=lambda self: {"b" if self.steps else "a": 1}),
        "not same as the observation space keys",
    ),
    "dict outside later": (
        spaces(_dict_space, observe=lambda self: {"a": 7 if self.steps else 1}),
        "not within the observation space",
    ),
    # Reused data
    "same obs": (
        having(
            position=np.zeros(2, np.float32),
            observe=lambda self: self.__dict__.setdefault("buffer", np.zeros(2, np.float32)),
        ),
        "share an object",
    ),
    "view of one buffer": (
        having(
            observe=lambda self: self.__dict__.setdefault("buffer", np.zeros(4, np.float32))[:2]
        ),
        "observations returned by .* share an object",
    ),
    "same info": (
        having(info=lambda self: self.__dict__.setdefault("shared", {"x": 1})),
        "infos returned by .* share an object",
    ),
    "array in info": (
        having(info=lambda self: {"x": self.__dict__.setdefault("shared", np.zeros(2))}),
        "infos returned by .* share an object",
    ),
    # Rendering and closing
    "no render modes": (rendering("ansi", metadata={"render_fps": 3}), "No render modes was decl"),
    "render modes a set": (
        rendering("ansi", metadata={"render_modes": {"ansi"}, "render_fps": 3}),
        "render_modes to be a sequence",
    ),
    "render modes numbers": (
        rendering("ansi", metadata={"render_modes": ["ansi", 3], "render_fps": 3}),
        "all render modes to be strings",
    ),
    "no render fps": (rendering("ansi", metadata={"render_modes": ["ansi"]}), "No render fps"),
    "render fps a string": (
        rendering("ansi", metadata={"render_modes": ["ansi"], "render_fps": "3"}),
        "to be an integer or a float",
    ),
    "render fps zero": (
        rendering("ansi", metadata={"render_modes": ["ansi"], "render_fps": 0}),
        "to be greater than zero",
    ),
    "undeclared render mode": (rendering("human"), "unsupported render mode"),
    "mode without modes": (
        rendering("ansi", metadata={"render_modes": []}),
        "With no render_modes, expects the Env.render_mode to be None",
    ),
    "rgb as list": (rendering("rgb_array", render=lambda self: []), "should return a numpy array"),
    "rgb of floats": (
        rendering("rgb_array", render=lambda self: np.zeros((2, 2, 3))),
        "with dtype uint8",
    ),
    "rgb of two axes": (
        rendering("rgb_array", render=lambda self: np.zeros((2, 2), np.uint8)),
        "with three axes, got 2",
    ),
    "rgb with alpha": (
        rendering("rgb_array", render=lambda self: np.zeros((2, 2, 4), np.uint8)),
        "last axis has three dimensions, got 4",
    ),
    "ansi as bytes": (rendering("ansi", render=lambda self: b""), "should produce a string"),
    "every mode of a spec": (with_spec(render=lambda self: 5), "got <class 'int'>"),
    "close twice": (
        with_spec(close=lambda self: delattr(self, "steps")),
        "Calling `env.close\\(\\)` on the closed environment should be allowed",
    ),
}


@dataclass
class Outcome:
    """How a check ended."""

    raised: BaseException | None
    categories: set[type[Warning]]
    text: str


def observe(check: Callable[[], Any]) -> Outcome:
    """Run a check and note what it raises and warns of."""
    raised: BaseException | None = None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            check()
        except Exception as problem:
            raised = problem
    told = [warning for warning in caught if "Casting input" not in str(warning.message)]
    lines = [str(warning.message) for warning in told] + ([str(raised)] if raised else [])
    return Outcome(raised, {warning.category for warning in told}, " ".join(lines))


def assert_alike(theirs: Outcome, ours: Outcome, words: str) -> None:
    if theirs.raised is None:
        assert ours.raised is None, repr(ours.raised)
    else:
        kind: type[BaseException] = type(theirs.raised)
        if kind is gymnasium.error.Error:
            kind = ludus.errors.Error
        assert isinstance(ours.raised, kind), f"{theirs.raised!r} and {ours.raised!r}"
    assert ours.categories == theirs.categories, f"{theirs.text}\n{ours.text}"
    assert re.search(words, theirs.text, re.DOTALL), theirs.text
    assert re.search(words, ours.text, re.DOTALL), ours.text


@pytest.mark.parametrize("name", CASES)
def test_check_env(name: str) -> None:
    from gymnasium.utils.env_checker import check_env as their_check_env

    build, words = CASES[name]
    theirs, ours = (build(lib) for lib in LIBS)
    assert_alike(
        observe(lambda: their_check_env(theirs)),
        observe(lambda: ludus.checking.check_env(ours, suppress=EXTRA)),
        words,
    )


@pytest.mark.parametrize("name", [name for name in CASES if name != "not an env"])
def test_passive_checkers(name: str) -> None:
    build, _ = CASES[name]
    outcomes = []
    for lib, checks in ((gymnasium, _passive(gymnasium)), (ludus, _passive(ludus))):
        env = build(lib)
        steps = [
            lambda env=env, checks=checks: checks.check_action_space(env.action_space),
            lambda env=env, checks=checks: checks.check_observation_space(env.observation_space),
            lambda env=env, checks=checks: checks.env_reset_passive_checker(env, seed=5),
            lambda env=env, checks=checks: checks.env_step_passive_checker(env, None),
            lambda env=env, checks=checks: checks.env_render_passive_checker(env),
        ]
        outcomes.append([observe(step) for step in steps])
    for theirs, ours in zip(*outcomes, strict=True):
        assert_alike(theirs, ours, "")


def _passive(lib: ModuleType) -> Any:

    return lib.utils.passive_env_checker


SINGLE_CHECKS = (
    "check_seed_deprecation",
    "check_reset_return_info_deprecation",
    "check_reset_return_type",
    "check_reset_seed_determinism",
    "check_reset_options",
    "check_step_determinism",
    "check_returned_data_not_reused",
)


@pytest.mark.parametrize("check", SINGLE_CHECKS)
@pytest.mark.parametrize(
    "name",
    [
        "good",
        "seed method",
        "return_info",
        "reset without seed",
        "reset without options",
        "default seed",
        "reset refuses seeds",
        "reset refuses options",
        "reset with a fixed seed",
        "reset varies",
        "step varies",
        "info varies",
        "truncated at once",
        "same info",
        "view of one buffer",
    ],
)
def test_single_checks(name: str, check: str) -> None:

    build, _ = CASES[name]
    theirs, ours = (
        observe(lambda lib=lib: getattr(lib.utils.env_checker, check)(build(lib))) for lib in LIBS
    )
    assert_alike(theirs, ours, "")


DATA: list[Any] = [
    1,
    1.0,
    np.float32(1),
    "a",
    None,
    (1, 2),
    [1, 2],
    {"a": np.arange(3)},
    {"a": np.arange(3) + 1},
    np.arange(3),
    np.arange(3.0),
    np.arange(3.0) + 1e-7,
    np.arange(3.0) + 1e-2,
    np.arange(4.0),
    np.array([np.nan, 1.0]),
    np.array([None, np.arange(2)], dtype=object),
    (np.arange(3), {"x": [1]}),
]


@pytest.mark.parametrize("exact", [False, True])
def test_data_functions(exact: bool) -> None:

    theirs, ours = (lib.utils.env_checker for lib in LIBS)
    for one in DATA:
        for other in DATA:
            expected = theirs.data_equivalence(one, other, exact)
            assert ours.data_equivalence(one, other, exact) is expected, (one, other)
            expected = theirs.data_shares_objects(one, other)
            assert ours.data_shares_objects(one, other) is expected, (one, other)


def test_numpy_flags_are_accepted() -> None:
    # Gymnasium takes np.False_ for a truncation, although its passive checker allows it.
    env = having(flags=lambda self: (np.False_, np.False_))(ludus)
    ludus.checking.check_env(env, suppress=EXTRA, skip_render_check=True)
