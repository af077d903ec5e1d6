import gymnasium as gym
import numpy as np
import pygame
from gymnasium.utils.play import PlayableGame, play

env = gym.make("CartPole-v1", render_mode="rgb_array")
env.reset(seed=0)
game = PlayableGame(env, {(ord("a"),): 0, (ord("d"),): 1})
print(sorted(game.relevant_keys), game.video_size, game.running)
game.process_event(pygame.event.Event(pygame.KEYDOWN, {"key": ord("a")}))
print(game.pressed_keys)
game.process_event(pygame.event.Event(pygame.KEYUP, {"key": ord("a")}))
game.process_event(pygame.event.Event(pygame.QUIT))
print(game.pressed_keys, game.running)
print(gym.make("MountainCar-v0").unwrapped.get_keys_to_action())
seen = []
def note(before, after, action, reward, terminated, truncated, info):
    seen.append((action, float(reward)))
    if len(seen) == 3:
        pygame.event.post(pygame.event.Event(pygame.QUIT))
play(env, keys_to_action={"a": 0, "d": 1}, noop=1, callback=note, seed=1, fps=200)
print(seen)
