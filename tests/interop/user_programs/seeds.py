import gymnasium as gym
import numpy as np

env = gym.make("CartPole-v1")
a, _ = env.reset(seed=3)
b, _ = env.reset()
c, _ = env.reset(seed=3)
print(np.array_equal(a, c), np.array_equal(a, b), b.round(5).tolist())
print(env.unwrapped.np_random_seed, type(env.np_random).__name__)
print(env.unwrapped.np_random.integers(0, 1000, 5).tolist(), env.reset()[0].round(5).tolist())
rng, seed = gym.utils.seeding.np_random(99)
print(seed, rng.random(3).round(6).tolist())
env.unwrapped.np_random = np.random.default_rng(12)
print(env.reset()[0].round(5).tolist(), env.unwrapped.np_random_seed)
for name in ("FrozenLake-v1", "Blackjack-v1", "Taxi-v4", "LunarLander-v3", "BipedalWalker-v3"):
    one, two = gym.make(name), gym.make(name)
    print(name, np.array_equal(one.reset(seed=8)[0], two.reset(seed=8)[0]), np.array_equal(one.reset()[0], two.reset()[0]))
    one.action_space.seed(8)
    print(np.round(one.action_space.sample(), 4).tolist())
