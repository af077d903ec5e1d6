"""Clients of servers: :func:`ludus.connect`."""
