import gymnasium as gym

env = gym.make("MountainCar-v0", max_episode_steps=5)
env.reset(seed=0)
print([env.step(1)[2:4] for _ in range(5)])
print(env.spec.max_episode_steps, gym.make("MountainCar-v0").spec.max_episode_steps)
env = gym.make("MountainCar-v0", max_episode_steps=-1)
env.reset(seed=0)
print(any(env.step(1)[3] for _ in range(400)), "TimeLimit" in str(env))
env = gym.wrappers.TimeLimit(gym.make("Pendulum-v1"), max_episode_steps=3)
env.reset(seed=0)
print([env.step([0.0])[3] for _ in range(4)])
for bad in (0, "x"):
    try:
        gym.wrappers.TimeLimit(gym.make("Pendulum-v1"), bad)
    except Exception as problem:
        print(type(problem).__name__)
