import gymnasium as gym

with gym.make("CartPole-v1") as env:
    print(env, repr(env), str(env.unwrapped), env.unwrapped.__class__.__name__)
    print(env.metadata["render_fps"], env.spec.render_modes if hasattr(env.spec, "render_modes") else None)
    print(isinstance(env, gym.Env), isinstance(env, gym.Wrapper), issubclass(gym.Wrapper, gym.Env))
    inner, names = env, []
    while isinstance(inner, gym.Wrapper):
        names.append(inner.class_name())
        inner = inner.env
    print(names)
print(gym.make("CartPole-v1", disable_env_checker=True))
envs = gym.make_vec("CartPole-v1", num_envs=2, vectorization_mode="sync")
print(envs, envs.spec.id)
print(gym.wrappers.TimeLimit(gym.make("CartPole-v1"), 3))
