"""The tools as they run in an agent's sandbox: the standard library only, nothing of Ludus."""
