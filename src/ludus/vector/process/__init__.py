"""Implementation of :class:`~ludus.vector.AsyncVectorEnv`.

Each worker process owns a block of environments. Actions, observations, rewards and flags are in
one shared buffer; two semaphores per worker signal "go" and "done". Pipes are used for rare
messages: construction, resets, attribute calls, errors and infos that do not fit columns.
"""
