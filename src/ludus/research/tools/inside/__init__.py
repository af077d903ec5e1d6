"""The tools as they run in an agent's box: the standard library only, nothing of Ludus."""
