from __future__ import annotations

from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from ludus.errors import Error
from ludus.png import as_image, to_png


@pytest.mark.parametrize("shape", [(5, 7, 3), (1, 1, 3), (40, 3, 4), (6, 6, 1)])
def test_other_programs_read_the_same_pixels(shape):
    image = np.random.default_rng(0).integers(0, 256, shape, np.uint8)
    with Image.open(BytesIO(to_png(image))) as read:
        assert np.array_equal(np.asarray(read).reshape(shape), image)


def test_grey_frames_and_collections_are_images():
    frame = np.full((4, 6), 7, np.uint8)
    assert as_image(frame).shape == (4, 6, 1)
    assert as_image([np.zeros((2, 2, 3), np.uint8), np.ones((2, 2, 3), np.uint8)]).max() == 1


@pytest.mark.parametrize(
    "frame",
    [
        None,
        "text",
        np.zeros((4, 4, 3)),
        np.zeros((4, 4, 5), np.uint8),
        np.zeros((0, 4, 3), np.uint8),
    ],
    ids=["nothing", "text", "floats", "five channels", "empty"],
)
def test_what_is_no_image_is_refused(frame):
    with pytest.raises(Error, match="image is"):
        as_image(frame)


def test_a_huge_frame_is_refused():
    with pytest.raises(Error, match="at most"):
        as_image(np.broadcast_to(np.uint8(0), (5000, 5000, 3)))
