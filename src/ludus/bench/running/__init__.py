"""Running units: engines, episodes, progress, and the folder that keeps the results."""
