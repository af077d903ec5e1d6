from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ludus.utils.step_api_compatibility import (
    convert_to_done_step_api,
    convert_to_terminated_truncated_step_api,
    step_api_compatibility,
)

DONES = np.array([False, True, True])


@pytest.mark.parametrize("terminated", [False, True])
@pytest.mark.parametrize("truncated", [False, True])
def test_there_and_back(terminated: bool, truncated: bool) -> None:
    there = convert_to_done_step_api((0, 1.0, terminated, truncated, {}))
    assert len(there) == 4
    back = convert_to_terminated_truncated_step_api(there)
    # The old form cannot say that an episode both ended and was cut off.
    assert back == (0, 1.0, terminated, truncated and not terminated, {})


def test_the_right_form_is_handed_on() -> None:
    old, new = (0, 1.0, True, {}), (0, 1.0, True, False, {})
    assert step_api_compatibility(new) is new
    assert step_api_compatibility(old, output_truncation_bool=False) is old


@pytest.mark.parametrize("convert", [convert_to_done_step_api, step_api_compatibility])
def test_bad_results(convert: Any) -> None:
    with pytest.raises(ValueError, match="four or five elements, got 3"):
        convert((1, 2, 3))


def test_bad_vector_infos() -> None:
    with pytest.raises(TypeError, match="list or dict"):
        convert_to_done_step_api((0, 1, DONES, DONES, "infos"), is_vector_env=True)
    with pytest.raises(TypeError, match="list or dict"):
        convert_to_terminated_truncated_step_api((0, 1, DONES, "infos"), is_vector_env=True)
