"""Environments in processes of their own: looked at for the gallery, and played in the browser."""
