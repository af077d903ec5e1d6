"""PPO on CartPole in one file, written against Gymnasium; nothing in it knows Ludus.

Run it on Gymnasium:            python examples/ppo_cleanrl_style.py
Run the same file on Ludus:     ludus as-gymnasium -- python examples/ppo_cleanrl_style.py

Needs PyTorch. With the default arguments it solves CartPole in about 50,000 steps.
"""

import argparse
import random
import time
from collections import deque

import gymnasium as gym
import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--env-id", default="CartPole-v1")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--total-steps", type=int, default=50_000)
    parser.add_argument("--num-envs", type=int, default=4)
    parser.add_argument("--num-steps", type=int, default=128, help="steps per env and update")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--minibatches", type=int, default=4)
    parser.add_argument("--learning-rate", type=float, default=2.5e-4)
    parser.add_argument("--gamma", type=float, default=0.99)
    parser.add_argument("--gae-lambda", type=float, default=0.95)
    parser.add_argument("--clip", type=float, default=0.2)
    parser.add_argument("--entropy", type=float, default=0.01)
    return parser.parse_args()


def make_env(env_id):
    def build():
        return gym.wrappers.RecordEpisodeStatistics(gym.make(env_id))

    return build


def linear(inputs, outputs, gain=2**0.5):
    layer = nn.Linear(inputs, outputs)
    nn.init.orthogonal_(layer.weight, gain)
    nn.init.zeros_(layer.bias)
    return layer


def network(inputs, outputs, gain):
    return nn.Sequential(
        linear(inputs, 64), nn.Tanh(), linear(64, 64), nn.Tanh(), linear(64, outputs, gain)
    )


if __name__ == "__main__":
    args = arguments()
    random.seed(args.seed)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)

    envs = gym.vector.SyncVectorEnv([make_env(args.env_id) for _ in range(args.num_envs)])
    if not isinstance(envs.single_action_space, gym.spaces.Discrete):
        raise SystemExit(f"{args.env_id} has no discrete actions.")
    size = int(np.prod(envs.single_observation_space.shape))
    actor = network(size, int(envs.single_action_space.n), gain=0.01)
    critic = network(size, 1, gain=1.0)
    parameters = [*actor.parameters(), *critic.parameters()]
    optimizer = torch.optim.Adam(parameters, lr=args.learning_rate, eps=1e-5)

    shape = (args.num_steps, args.num_envs)
    observations = torch.zeros((*shape, size))
    actions, logprobs, rewards, dones, values = (torch.zeros(shape) for _ in range(5))

    started = time.perf_counter()
    returns_seen = deque(maxlen=20)
    observation, _ = envs.reset(seed=args.seed)
    observation = torch.as_tensor(observation, dtype=torch.float32)
    done = torch.zeros(args.num_envs)
    batch = args.num_steps * args.num_envs
    updates = max(1, args.total_steps // batch)

    for update in range(updates):
        optimizer.param_groups[0]["lr"] = args.learning_rate * (1 - update / updates)

        # Play.
        for step in range(args.num_steps):
            observations[step], dones[step] = observation, done
            with torch.no_grad():
                policy = Categorical(logits=actor(observation))
                action = policy.sample()
                values[step] = critic(observation).squeeze(-1)
            actions[step], logprobs[step] = action, policy.log_prob(action)
            observation, reward, terminated, truncated, infos = envs.step(action.numpy())
            observation = torch.as_tensor(observation, dtype=torch.float32)
            done = torch.as_tensor(terminated | truncated, dtype=torch.float32)
            rewards[step] = torch.as_tensor(reward, dtype=torch.float32)
            if "episode" in infos:
                returns_seen.extend(infos["episode"]["r"][infos["_episode"]])

        # Estimate advantages, backwards in time.
        with torch.no_grad():
            next_value = critic(observation).squeeze(-1)
        advantages = torch.zeros_like(rewards)
        running = torch.zeros(args.num_envs)
        for step in reversed(range(args.num_steps)):
            alive = 1.0 - (done if step == args.num_steps - 1 else dones[step + 1])
            following = next_value if step == args.num_steps - 1 else values[step + 1]
            delta = rewards[step] + args.gamma * following * alive - values[step]
            running = delta + args.gamma * args.gae_lambda * alive * running
            advantages[step] = running
        targets = advantages + values

        # Learn.
        flat = [data.reshape(batch, *data.shape[2:]) for data in
                (observations, actions, logprobs, advantages, targets)]  # fmt: skip
        for _ in range(args.epochs):
            for rows in torch.randperm(batch).chunk(args.minibatches):
                seen, acted, old_logprob, advantage, target = (data[rows] for data in flat)
                policy = Categorical(logits=actor(seen))
                ratio = (policy.log_prob(acted) - old_logprob).exp()
                advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
                clipped = ratio.clamp(1 - args.clip, 1 + args.clip)
                policy_loss = -torch.min(ratio * advantage, clipped * advantage).mean()
                value_loss = 0.5 * (critic(seen).squeeze(-1) - target).pow(2).mean()
                loss = policy_loss + 0.5 * value_loss - args.entropy * policy.entropy().mean()
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(parameters, 0.5)
                optimizer.step()

        steps = (update + 1) * batch
        mean = float(np.mean(returns_seen)) if returns_seen else float("nan")
        speed = steps / (time.perf_counter() - started)
        print(f"steps {steps:>7}  mean return {mean:7.1f}  steps/s {speed:7.0f}")

    envs.close()
