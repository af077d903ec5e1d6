import gymnasium as gym
import numpy as np

def attempt(what):
    try:
        return what()
    except (gym.error.Error, AssertionError, AttributeError, TypeError, ValueError) as problem:
        kinds = (gym.error.ResetNeeded, gym.error.UnregisteredEnv, gym.error.MalformedEnv if hasattr(gym.error, "MalformedEnv") else KeyError, AssertionError, AttributeError, TypeError)
        return [kind.__name__ for kind in kinds if isinstance(problem, kind) and not isinstance(problem, ValueError)][:1] or "refused"

env = gym.make("CartPole-v1")
print(attempt(lambda: env.step(0)))
print(attempt(lambda: env.render()))
env.reset(seed=0)
print(attempt(lambda: env.reset(seed=-1)), attempt(lambda: env.reset(seed="x")))
print(attempt(lambda: gym.make("NoSuchEnv-v0")))
print(attempt(lambda: gym.make("CartPole-v99")), attempt(lambda: gym.make("CartPole")) is None)
print(attempt(lambda: gym.make("cartpole-v1")), attempt(lambda: gym.make("CartPole-v1", nonsense=3)))
print(attempt(lambda: gym.spaces.Discrete(0)), attempt(lambda: gym.spaces.Box(0, 1, (2,), int).sample().shape))
print(attempt(lambda: gym.spec("Missing-v1")), attempt(lambda: gym.make("")))
print(attempt(lambda: env.unwrapped.nothing))
