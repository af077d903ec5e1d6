"""One episode of a research task: the environment, its sandbox, actions and observations."""
