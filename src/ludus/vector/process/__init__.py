"""The engine behind :class:`~ludus.vector.AsyncVectorEnv`.

A few worker processes each own a block of environments. Actions, observations, rewards and flags
lie in one shared buffer; a pair of semaphores per worker says "go" and "done". Pipes carry only
what is rare: construction, resets, attribute calls, errors and infos that do not fit columns.
"""
