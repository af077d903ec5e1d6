"""What tests of research tasks share."""

from __future__ import annotations

from pathlib import Path

SAMPLES = Path(__file__).parent / "sample_tasks"

DOCUMENTED = """\
# Example task configuration
id: "image_classification_cifar10"
name: "Image Classification (CIFAR-10)"
description: "Develop a model to classify images into 10 categories."
max_steps: 50
timeout: 3600  # seconds
evaluation:
  metric: "accuracy"
  threshold: 0.7
resources:
  memory: "8G"
  cpu: 2
  gpu: 1
"""
"""MLGym's documented form, with all its fields."""
