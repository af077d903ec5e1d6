import gymnasium as gym
from gymnasium.envs.registration import EnvSpec, WrapperSpec, register, registry, spec


class Tiny(gym.Env):
    def __init__(self, size=3, render_mode=None):
        self.size, self.render_mode = size, render_mode
        self.observation_space = gym.spaces.Discrete(size)
        self.action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at = int(self.np_random.integers(self.size))
        return self.at, {"options": options}

    def step(self, action):
        self.at = min(self.at + action, self.size - 1)
        return self.at, float(action), self.at == self.size - 1, False, {}


register(
    id="my/Tiny-v0",
    entry_point=Tiny,
    kwargs={"size": 5},
    max_episode_steps=4,
    reward_threshold=2.5,
    nondeterministic=True,
    additional_wrappers=(
        gym.wrappers.TransformReward.wrapper_spec(func=lambda r: r * 10),
    ),
)
env = gym.make("my/Tiny-v0")
print(env)
print(env.spec.id, env.spec.namespace, env.spec.name, env.spec.version, env.spec.kwargs, env.spec.reward_threshold)
print(env.spec.nondeterministic, env.spec.order_enforce, env.spec.disable_env_checker)
env.reset(seed=1, options={"x": 1})
print([env.step(1)[:4] for _ in range(3)])
print(gym.make("my/Tiny-v0", size=9).observation_space, "my/Tiny-v0" in gym.registry)
print([w.name for w in env.spec.additional_wrappers])
try:
    register(id="bad id!", entry_point=Tiny)
except gym.error.Error as problem:
    print(type(problem).__name__)
print(spec("CartPole-v1").id, gym.spec("CartPole-v1").max_episode_steps, len(registry) == len(gym.registry))
print(isinstance(gym.spec("my/Tiny-v0"), EnvSpec), gym.make(gym.spec("my/Tiny-v0")).unwrapped.size)
text = gym.pprint_registry(num_cols=1, disable_print=True)
print("my" in text, "Tiny-v0" in text, "CartPole-v1" in text)
del gym.registry["my/Tiny-v0"]
try:
    gym.make("my/Tiny-v0")
except gym.error.NameNotFound as problem:
    print("gone")
except gym.error.NamespaceNotFound as problem:
    print("namespace gone")
