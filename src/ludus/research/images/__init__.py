"""Images of tasks: found by name, held to their digest, examined before an episode, described."""
