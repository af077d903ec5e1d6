"""Batches of Box2D environments in compiled code that calls the engine."""
