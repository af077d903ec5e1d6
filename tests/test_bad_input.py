"""Wrong calls, and the errors that name the cause and what to do about it.

Each row: a call, the exception it must raise, and words that the message must contain.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest

import ludus
from ludus import spaces, wrappers
from ludus.checking import check_env, inspect_env
from ludus.core import VectorWrapper
from ludus.errors import (
    ClosedEnvironmentError,
    Error,
    InvalidAction,
    InvalidArgument,
    InvalidBound,
    InvalidProbability,
    NameNotFound,
    NamespaceNotFound,
    NoAsyncCallError,
    RegistrationError,
    ResetNeeded,
    StateError,
    UnsupportedMode,
    VersionNotFound,
)
from ludus.testing.envs import CounterEnv, DictEnv, ImageEnv
from ludus.vector import AsyncVectorEnv, SyncVectorEnv

make = ludus.make
cartpole = functools.partial(make, "CartPole-v1")


def started(env=None):
    env = env or cartpole()
    env.reset(seed=0)
    return env


def closed(backend):
    envs = backend([CounterEnv] * 2)
    envs.close()
    return envs


def with_vector(use, backend=SyncVectorEnv, **options):
    with backend([CounterEnv] * 2, **options) as envs:
        return use(envs)


IDS = {
    "number": (lambda: make(3), TypeError, "string or EnvSpec", "register"),
    "class": (lambda: make(CounterEnv), TypeError, "string or EnvSpec", "register"),
    "empty": (lambda: make(""), Error, "Malformed", "[namespace/]name[-vN]"),
    "blank inside": (lambda: make("Cart Pole-v1"), Error, "Malformed", "'CartPole-v1'"),
    "two slashes": (lambda: make("a/b/C-v0"), Error, "Malformed", "at most one '/'"),
    "typo": (lambda: make("CartPol-v1"), NameNotFound, "doesn't exist", "`CartPole`"),
    "case": (lambda: make("cartpole-v1"), NameNotFound, "doesn't exist", "`CartPole`"),
    "version": (lambda: make("CartPole-v9"), VersionNotFound, "`v9`", "`v0`, `v1`"),
    "namespace": (lambda: make("nowhere/A-v0"), NamespaceNotFound, "nowhere", "Import"),
    "module": (lambda: make("no_such_mod:A-v0"), ModuleNotFoundError, "no_such_mod", "installed"),
    "spec": (lambda: ludus.spec("CartPoll-v1"), NameNotFound, "CartPoll", "`CartPole`"),
    "vector id": (lambda: ludus.make_vec(5), Error, "Invalid id type", "`str` or `EnvSpec`"),
    "search tag": (lambda: ludus.search(tag="clasic"), ValueError, "tag='clasic'", "`classic`"),
    "registered twice unversioned": (
        lambda: ludus.register("CartPole", "a:b"),
        RegistrationError,
        "`CartPole-v1`",
        "latest version",
    ),
    "no entry point": (lambda: ludus.register("X-v0"), ValueError, "'X-v0'", "'module:name'"),
    "entry point": (
        lambda: make(ludus.EnvSpec("X-v0", "module.Class")),
        ValueError,
        "'module.Class'",
        "one colon",
    ),
    "id to register": (lambda: ludus.register("X v0", "a:b"), Error, "'X v0'", "Expected"),
}

KWARGS = {
    "unknown": (
        lambda: cartpole(sutton_barto=True),
        InvalidArgument,
        "'sutton_barto'",
        "`sutton_barto_reward`",
    ),
    "step limit zero": (lambda: cartpole(max_episode_steps=0), ValueError, "=0", "positive int"),
    "step limit float": (lambda: cartpole(max_episode_steps=2.5), ValueError, "2.5", "-1"),
    "registered limit": (
        lambda: ludus.register("X-v0", "a:b", max_episode_steps=-3),
        RegistrationError,
        "-3",
        "positive int",
    ),
    "tags": (lambda: ludus.EnvSpec("X-v0", tags="maze"), TypeError, "'maze'", "sequence"),
    "trust": (lambda: ludus.SecuritySpec(trust="friend"), ValueError, "'friend'", "'untrusted'"),
    "network": (lambda: ludus.SecuritySpec(network="all"), ValueError, "'all'", "'loopback'"),
    "num_envs": (lambda: ludus.make_vec("CartPole-v1", 0), ValueError, "=0", "positive int"),
    "mode": (
        lambda: ludus.make_vec("CartPole-v1", 2, vectorization_mode="thread"),
        ValueError,
        "'thread'",
        "'async'",
    ),
    "vector_kwargs": (
        lambda: ludus.make_vec("CartPole-v1", vectorization_mode="sync", vector_kwargs={"copi": 1}),
        InvalidArgument,
        "'copi'",
        "`copy`",
    ),
    "reset option": (
        lambda: cartpole().reset(options={"low": "left"}),
        ValueError,
        "low='left'",
        "number",
    ),
    "json": (lambda: ludus.EnvSpec.from_json('{"colour": 1}'), ValueError, "colour", "EnvSpec"),
    "rule": (
        lambda: inspect_env(CounterEnv(), suppress=["obs-alias"]),
        ValueError,
        "'obs-alias'",
        "'obs-aliasing'",
    ),
}

SPACES = {
    "box order": (
        lambda: spaces.Box(1, 0, (2,)),
        ValueError,
        "low=[1. 1.]",
        "must nowhere be above high",
    ),
    "box shapes": (
        lambda: spaces.Box(np.zeros(2), np.ones(3)),
        ValueError,
        "low.shape=(2,)",
        "high.shape=(3,)",
    ),
    "box shape type": (lambda: spaces.Box(0, 1, "3"), TypeError, "shape", "integer"),
    "box nan": (lambda: spaces.Box(np.nan, 1, (1,)), ValueError, "low", "nan"),
    "discrete n": (lambda: spaces.Discrete(0), ValueError, "n ", "positive"),
    "discrete float": (lambda: spaces.Discrete(2.5), TypeError, "`n`", "integer"),
    "discrete start": (lambda: spaces.Discrete(2, start=0.5), TypeError, "`start`", "integer"),
    "multi binary": (lambda: spaces.MultiBinary(0), ValueError, "n ", "positive"),
    "multi discrete": (lambda: spaces.MultiDiscrete([2, 0]), ValueError, "nvec", "positive"),
    "text lengths": (lambda: spaces.Text(3, min_length=5), ValueError, "min_length", "max_length"),
    "text charset": (lambda: spaces.Text(3, charset=5), TypeError, "charset", "string"),
    "tuple": (lambda: spaces.Tuple([1, 2]), TypeError, "got 1", "`Space`"),
    "dict": (lambda: spaces.Dict({"a": 1}), TypeError, "'a'", "Space"),
    "sequence": (lambda: spaces.Sequence(3), TypeError, "int", "Space"),
    "one of nothing": (lambda: spaces.OneOf([]), ValueError, "empty", "at least one"),
    "mask shape": (
        lambda: spaces.Discrete(3).sample(mask=np.ones(2, np.int8)),
        ValueError,
        "(2,)",
        "(3,)",
    ),
    "mask type": (lambda: spaces.Discrete(3).sample(mask=[1, 1, 1]), TypeError, "list", "ndarray"),
    "probability": (
        lambda: spaces.Discrete(2).sample(probability=np.array([0.5, 0.1])),
        ValueError,
        "0.6",
        "sum to 1",
    ),
    "flatten size": (
        lambda: spaces.flatdim(spaces.Sequence(spaces.Discrete(2))),
        ValueError,
        "Sequence",
        "flattened",
    ),
    "flatten no space": (lambda: spaces.flatdim(3), TypeError, "int", "Space"),
    "json type": (
        lambda: spaces.from_json('{"type": "os.system"}'),
        ValueError,
        "'os.system'",
        "Box, Dict",
    ),
}

ACTIONS = {
    "outside": (lambda: started().step(7), InvalidAction, "7", "from 0 to 1"),
    "text": (lambda: started().step("left"), InvalidAction, "'left'", "from 0 to 1"),
    "too many": (
        lambda: with_vector(lambda e: (e.reset(), e.step(np.ones(3, int)))),
        ValueError,
        "got 3",
        "Expected 2 actions",
    ),
    "too many, processes": (
        lambda: with_vector(lambda e: (e.reset(), e.step(np.ones(3, int))), AsyncVectorEnv),
        ValueError,
        "got 3",
        "Expected 2 actions",
    ),
}

SEEDS = {
    "negative": (lambda: cartpole().reset(seed=-1), Error, "-1", "greater or equal to zero"),
    "text": (lambda: cartpole().reset(seed="1"), Error, "str", "python integer"),
    "numpy": (lambda: cartpole().reset(seed=np.int64(1)), Error, "int64", "int(1)"),
    "space": (lambda: spaces.Discrete(3).seed("a"), Error, "str", "integer"),
    "too few": (
        lambda: with_vector(lambda e: e.reset(seed=[1])),
        ValueError,
        "length=1",
        "num_envs=2",
    ),
    "float": (lambda: with_vector(lambda e: e.reset(seed=1.5)), TypeError, "float", "int(seed)"),
    "derived": (lambda: ludus.seeding.derive_seed(-1, "a"), Error, "-1", "greater or equal"),
    "mask": (
        lambda: with_vector(lambda e: e.reset(options={"reset_mask": [True, False]})),
        TypeError,
        "list",
        "np.array(mask)",
    ),
}

RENDERING = {
    "unsupported": (lambda: ImageEnv(render_mode="hologram"), UnsupportedMode, "'hologram'", "rgb"),
    "no video": (
        lambda: wrappers.RecordVideo(CounterEnv(), "nowhere"),
        ValueError,
        "None",
        "rgb_array",
    ),
    "no window": (
        lambda: wrappers.HumanRendering(CounterEnv()),
        ValueError,
        "got None",
        "rgb_array",
    ),
    "before reset": (
        lambda: cartpole(render_mode="rgb_array").render(),
        ResetNeeded,
        "render()",
        "reset()",
    ),
}

LIFE = {
    "step before reset": (lambda: cartpole().step(0), ResetNeeded, "step()", "reset()"),
    "bare step before reset": (lambda: cartpole().unwrapped.step(0), ResetNeeded, "step", "reset"),
    "closed sync": (
        lambda: closed(SyncVectorEnv).reset(),
        ClosedEnvironmentError,
        "close",
        "Build a new",
    ),
    "closed processes": (
        lambda: closed(AsyncVectorEnv).step(np.ones(2, int)),
        ClosedEnvironmentError,
        "close",
        "Build a new",
    ),
    "wait for nothing": (
        lambda: with_vector(lambda e: e.step_wait(), AsyncVectorEnv),
        NoAsyncCallError,
        "`step_wait`",
        "`step_async`",
    ),
    "state of another": (
        lambda: CounterEnv().set_state({"env": "DictEnv"}),
        StateError,
        "'DictEnv'",
        "Build the same stack",
    ),
    "undeclared state": (lambda: ludus.Env().get_state(), StateError, "Env", "state_fields"),
    "missing attribute": (
        lambda: cartpole().get_wrapper_attr("gravty"),
        AttributeError,
        "'gravty'",
        "TimeLimit",
    ),
    "missing name": (lambda: ludus.maek, AttributeError, "'maek'", "ludus"),
}

WRAPPERS = {
    "no environment": (lambda: wrappers.TimeLimit("x", 3), TypeError, "str", "make"),
    "no vector environment": (
        lambda: VectorWrapper(CounterEnv()),
        TypeError,
        "Counter",
        "make_vec",
    ),
    "time limit": (lambda: wrappers.TimeLimit(CounterEnv(), 0), ValueError, "0", "positive"),
    "no bounds": (lambda: wrappers.ClipReward(CounterEnv()), InvalidBound, "None", "one bound"),
    "swapped bounds": (
        lambda: wrappers.ClipReward(CounterEnv(), 2, 1),
        InvalidBound,
        "`min_reward` (2)",
        "`max_reward` (1)",
    ),
    "box needed": (lambda: wrappers.ClipAction(CounterEnv()), TypeError, "Discrete", "Box"),
    "images needed": (
        lambda: wrappers.GrayscaleObservation(CounterEnv()),
        TypeError,
        "Discrete",
        "Box",
    ),
    "probability": (
        lambda: wrappers.StickyAction(CounterEnv(), 2.0),
        InvalidProbability,
        "2.0",
        "[0,1)",
    ),
    "stack": (lambda: wrappers.FrameStackObservation(CounterEnv(), 0), ValueError, "0", "1"),
    "keys": (
        lambda: wrappers.FilterObservation(DictEnv(), ["posision"]),
        ValueError,
        "'posision'",
        "'position'",
    ),
    "discount": (lambda: wrappers.NormalizeReward(CounterEnv(), 2), InvalidBound, "2", "[0, 1]"),
    "same step": (
        lambda: with_vector(wrappers.vector.FlattenObservation, autoreset_mode="SameStep"),
        ValueError,
        "SAME_STEP",
        "wrappers=[...]",
    ),
    "checked object": (lambda: check_env(3), TypeError, "int", "Derive"),
}

TABLES = {
    "id": IDS,
    "kwargs": KWARGS,
    "space": SPACES,
    "action": ACTIONS,
    "seed": SEEDS,
    "render": RENDERING,
    "life": LIFE,
    "wrapper": WRAPPERS,
}
ROWS = {f"{kind}: {name}": row for kind, table in TABLES.items() for name, row in table.items()}


def test_the_table_is_long_enough():
    assert len(ROWS) >= 60


@pytest.mark.parametrize("name", ROWS)
def test_error_names_cause_and_fix(name):
    call, problem, cause, fix = ROWS[name]
    with pytest.raises(problem) as caught:
        call()
    message = str(caught.value)
    assert cause in message
    assert fix in message
