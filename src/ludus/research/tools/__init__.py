"""Tools that an agent has besides bash: commands in its sandbox, and structured calls of them."""
