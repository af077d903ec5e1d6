"""The channel between the host and an environment in a sandbox."""
