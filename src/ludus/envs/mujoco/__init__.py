"""Robots simulated by MuJoCo."""
