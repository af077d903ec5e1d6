from __future__ import annotations

import copy
import functools
import inspect
import pickle

import numpy as np
import pytest

import ludus
from ludus import wrappers
from ludus.core import AutoresetMode, Env, EnvSpec
from ludus.errors import Error, InvalidArgument, InvalidMetadata
from ludus.registration import registry
from ludus.registration.entry_point import check_arguments
from ludus.testing.envs import CounterEnv, ImageEnv
from ludus.vector import SyncVectorEnv

COUNTER = "ludus.testing.envs:CounterEnv"
IMAGE = "ludus.testing.envs:ImageEnv"


@pytest.fixture(autouse=True)
def _restored_registry():
    before = dict(registry)
    ludus.register("Counter-v0", COUNTER, max_episode_steps=5)
    ludus.register("Image-v0", IMAGE)
    yield
    registry.clear()
    registry.update(before)


def layers(env):
    names = []
    while isinstance(env, ludus.Wrapper):
        names.append(type(env).__name__)
        env = env.env
    return names


def test_default_stack():
    env = ludus.make("Counter-v0")
    assert layers(env) == ["TimeLimit", "OrderEnforcing", "PassiveEnvChecker"]
    stack = "<TimeLimit<OrderEnforcing<PassiveEnvChecker<CounterEnv<Counter-v0>>>>>"
    assert str(env) == stack


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"max_episode_steps": -1}, ["OrderEnforcing", "PassiveEnvChecker"]),
        ({"disable_env_checker": True}, ["TimeLimit", "OrderEnforcing"]),
    ],
)
def test_stack_options(arguments, expected):
    assert layers(ludus.make("Counter-v0", **arguments)) == expected


def test_time_limit_argument_wins():
    env = ludus.make("Counter-v0", max_episode_steps=2, goal=50)
    env.reset(seed=0)
    assert [env.step(1)[3] for _ in range(2)] == [False, True]


def test_make_from_the_spec_of_a_wrapped_env():
    env = wrappers.ClipReward(ludus.make("Counter-v0", goal=6), -0.5, 0.5)
    again = ludus.make(env.spec)
    assert layers(again) == layers(env)
    assert again.unwrapped.goal == 6
    assert again.spec == env.spec
    assert EnvSpec.from_json(env.spec.to_json()) == env.spec


def test_wrapper_that_does_not_record_its_arguments_cannot_be_rebuilt():
    class Plain(ludus.Wrapper):
        pass

    with pytest.raises(ValueError, match="RecordConstructorArgs"):
        ludus.make(Plain(ludus.make("Counter-v0")).spec)


def test_registered_kwargs_are_not_shared():
    ludus.register("Shared-v0", COUNTER, kwargs={"goal": 4})
    env = ludus.make("Shared-v0")
    env.spec.kwargs["goal"] = 99
    assert ludus.spec("Shared-v0").kwargs == {"goal": 4}


class Unfinished(Env):
    def __init__(self, size, *, mode="easy"):
        raise AssertionError("must not be built")


def test_bad_kwargs_are_reported_before_anything_is_built():
    ludus.register("Unfinished-v0", Unfinished)
    with pytest.raises(InvalidArgument, match=r"unexpected keyword argument 'sise'.*`size`"):
        ludus.make("Unfinished-v0", sise=3)
    with pytest.raises(TypeError, match="missing a required argument: 'size'"):
        ludus.make("Unfinished-v0")
    with pytest.raises(InvalidArgument, match=r"takes: size, mode"):
        ludus.make("Unfinished-v0", size=3, speed=2, colour=1)


def test_human_rendering_is_applied(monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    with pytest.warns(UserWarning, match="HumanRendering wrapper is being applied"):
        env = ludus.make("Image-v0", render_mode="human")
    assert layers(env)[0] == "HumanRendering"
    env.close()


def test_render_collection_is_applied():
    env = ludus.make("Image-v0", render_mode="rgb_array_list")
    assert layers(env)[0] == "RenderCollection"
    env.reset(seed=0)
    env.step(0)
    assert len(env.render()) == 2


def test_unknown_render_mode_warns():
    with pytest.warns(UserWarning, match="not in the possible render_modes"):
        ludus.make("CartPole-v1", render_mode="hologram")


def test_human_rendering_without_render_mode_parameter():
    class NoMode(CounterEnv):
        metadata = {"render_modes": ["rgb_array"]}

    ludus.register("NoMode-v0", NoMode)
    with (
        pytest.warns(UserWarning, match="HumanRendering"),
        pytest.raises(Error, match="doesn't implement human-rendering natively"),
    ):
        ludus.make("NoMode-v0", render_mode="human")


def test_bad_metadata():
    class Listed(CounterEnv):
        metadata = ["human"]

    class Silent(CounterEnv):
        metadata = {}

    ludus.register("Listed-v0", Listed)
    ludus.register("Silent-v0", Silent)
    with pytest.raises(InvalidMetadata, match="dict"):
        ludus.make("Listed-v0")
    with pytest.warns(UserWarning, match="render_modes"):
        ludus.make("Silent-v0")


def test_entry_point_that_returns_something_else():
    ludus.register("Odd-v0", lambda: "not an env")
    with pytest.raises(TypeError, match="must inherit from the ludus.Env class"):
        ludus.make("Odd-v0")


def test_vector_only_spec():
    ludus.register(
        "Batch-v0", vector_entry_point=lambda num_envs, **_: SyncVectorEnv([CounterEnv] * num_envs)
    )
    with pytest.raises(Error, match="entry_point is not specified"):
        ludus.make("Batch-v0")
    envs = ludus.make_vec("Batch-v0", 3)
    assert envs.num_envs == 3
    assert envs.spec.kwargs["vectorization_mode"] == "vector_entry_point"
    for arguments in ({"vector_kwargs": {"copy": False}}, {"wrappers": [wrappers.ClipReward]}):
        with pytest.raises(Error, match="Cannot use `vector_entry_point`"):
            ludus.make_vec("Batch-v0", 2, **arguments)
    with pytest.raises(Error, match="doesn't have an entry point"):
        ludus.make_vec("Batch-v0", 2, vectorization_mode="sync")


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_make_vec(mode):
    with ludus.make_vec(
        "Counter-v0",
        3,
        vectorization_mode=mode,
        vector_kwargs={"autoreset_mode": AutoresetMode.SAME_STEP},
        wrappers=[lambda env: wrappers.TransformReward(env, lambda reward: -reward)],
        goal=30,
    ) as envs:
        assert envs.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
        envs.reset(seed=0)
        assert envs.step(np.ones(3, int))[1].tolist() == [-1.0, -1.0, -1.0]
        assert envs.get_attr("goal") == (30, 30, 30)


def test_make_vec_from_the_spec_of_a_vector_env():
    with ludus.make_vec("Counter-v0", 3, vectorization_mode="sync", goal=9) as envs:
        spec = envs.spec
    with ludus.make_vec(spec) as again:
        assert (again.num_envs, again.get_attr("goal")) == (3, (9, 9, 9))
        assert again.spec == spec


def test_make_vec_modes():
    with pytest.raises(ValueError, match="Invalid vectorization mode: 'threads'"):
        ludus.make_vec("Counter-v0", 2, vectorization_mode="threads")
    with pytest.raises(Error, match="vector entry point"):
        ludus.make_vec("Counter-v0", vectorization_mode=ludus.VectorizeMode.VECTOR_ENTRY_POINT)
    for number in (0, -1, 1.5, True):
        with pytest.raises(ValueError, match="num_envs"):
            ludus.make_vec("Counter-v0", number)


def test_vector_env_without_autoreset_metadata_warns():
    class Silent(SyncVectorEnv):
        def __init__(self, num_envs):
            super().__init__([CounterEnv] * num_envs)
            self.metadata = {}

    ludus.register("SilentBatch-v0", vector_entry_point=Silent)
    with pytest.warns(UserWarning, match="missing AutoresetMode"):
        ludus.make_vec("SilentBatch-v0", 2)


def test_made_envs_can_be_copied_and_pickled():
    env = ludus.make("Counter-v0")
    env.reset(seed=4)
    for twin in (copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        assert [twin.step(1)[0] for _ in range(3)] == [copy.deepcopy(env).step(1)[0]] + [
            twin.unwrapped.count - 1,
            twin.unwrapped.count,
        ]


def test_spec_make():
    assert isinstance(ludus.spec("Image-v0").make().unwrapped, ImageEnv)


class _Meta(type):
    def __call__(cls, **kwargs):
        return super().__call__()


def _with_init(init):
    return type("Made", (), {"__init__": init})


@pytest.mark.parametrize(
    "creator",
    [
        _with_init(lambda self: None),
        _with_init(lambda self, size: None),
        _with_init(lambda self, size=1, *, depth: None),
        _with_init(lambda self, size, *, depth=2: None),
        _with_init(lambda self, size, /: None),
        _with_init(lambda self, *sizes: None),
        _with_init(lambda self, **sizes: None),
        type("NoInit", (), {}),
        type("New", (), {"__new__": lambda cls, size: None}),
        _Meta("Called", (), {"__init__": lambda self, depth: None}),
        type("Shown", (), {"__signature__": inspect.signature(lambda depth: None)}),
        functools.partial(_with_init(lambda self, size, depth: None), depth=1),
        lambda size=1: None,
    ],
)
@pytest.mark.parametrize("kwargs", [{}, {"size": 1}, {"depth": 1}, {"size": 1, "depth": 2}])
def test_arguments_are_refused_as_a_signature_refuses_them(creator, kwargs):
    try:
        inspect.signature(creator).bind(**kwargs)
    except TypeError:
        fits = False
    else:
        fits = True
    by_place = any(
        p.kind is p.POSITIONAL_ONLY for p in inspect.signature(creator).parameters.values()
    )
    if fits or (by_place and not kwargs):
        check_arguments("Made-v0", creator, kwargs)
    else:
        with pytest.raises(InvalidArgument, match=r"make\('Made-v0'\)"):
            check_arguments("Made-v0", creator, kwargs)
