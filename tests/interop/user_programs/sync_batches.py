import gymnasium as gym
import numpy as np

envs = gym.vector.SyncVectorEnv([lambda: gym.make("CartPole-v1", max_episode_steps=9) for _ in range(3)])
obs, infos = envs.reset(seed=[5, 6, 7])
print(obs.round(4).tolist(), obs.dtype, infos, envs.num_envs)
print(envs.single_action_space, envs.action_space, envs.observation_space.shape)
envs.action_space.seed(2)
for _ in range(12):
    obs, rewards, terminations, truncations, infos = envs.step(envs.action_space.sample())
    print(rewards.tolist(), terminations.tolist(), truncations.tolist(), sorted(infos))
print(envs.get_attr("gravity"), envs.call("has_wrapper_attr", "gravity"))
envs.set_attr("gravity", [1.0, 2.0, 3.0])
print(envs.get_attr("gravity"), envs.envs[1].unwrapped.gravity)
envs.set_attr("force_mag", 20.0)
print(envs.get_attr("force_mag"), [type(s).__name__ for s in envs.get_attr("spec")])
print(np.round(envs.get_attr("state")[0], 4).tolist())
try:
    envs.set_attr("gravity", [1.0])
except ValueError as problem:
    print("ValueError")
envs.close()
