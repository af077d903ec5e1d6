from gymnasium.envs.classic_control import CartPoleEnv, MountainCarEnv


class Heavy(CartPoleEnv):
    gravity = 99.0
    x_threshold = 0.5


env = Heavy()
print(env.gravity, env.x_threshold)
env.reset(seed=0)
print(env.step(1)[0].round(5).tolist())
env.gravity = 50.0
print(env.gravity, env.step(1)[0].round(5).tolist())


class Fast(MountainCarEnv):
    def __init__(self, speed):
        super().__init__(goal_velocity=0.01)
        self.max_speed = speed
        self.low[1], self.high[1] = -speed, speed


env = Fast(0.01)
env.reset(seed=0)
for k in range(60):
    obs, *_ = env.step(2 * (k // 20 % 2))
print(obs.round(5).tolist(), env.goal_velocity, env.max_speed)
