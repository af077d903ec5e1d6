"""``mlgym.environment.tasks``: the interface of tasks, and the task of MLGym's document."""

from __future__ import annotations

from typing import ClassVar

from ludus.research import ActionResult, BaseTask

__all__ = ["ActionResult", "BaseTask", "ImageClassificationCIFAR10Task"]


class ImageClassificationCIFAR10Task(BaseTask):
    """Classify the images of CIFAR-10, with the files of the task imageClassificationCifar10."""

    files: ClassVar[str | None] = "imageClassificationCifar10"
