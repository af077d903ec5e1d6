import gymnasium as gym
from gymnasium.envs.registration import EnvSpec

ids = ("CartPole-v1", "phys2d/CartPole-v1", "Ant-v5", "Blackjack-v1", "tabular/Blackjack-v0")
some = {name: gym.registry[name] for name in ids}
some["my/Own-v2"] = EnvSpec("my/Own-v2", "my_package.envs:Own")
print(gym.pprint_registry(some, disable_print=True))
print(gym.pprint_registry(some, num_cols=1, exclude_namespaces=["phys2d", "my"], disable_print=True))
gym.pprint_registry(some, num_cols=2, exclude_namespaces=["toy_text"])
