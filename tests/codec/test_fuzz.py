from __future__ import annotations

import pytest

from tests.codec import fuzz


@pytest.mark.parametrize(("target", "inputs"), [("codec", 30_000), ("state", 6_000)])
def test_mutated_input_ends_in_the_declared_exception(target: str, inputs: int) -> None:
    outcome = fuzz.run(target, inputs, seed=1)
    assert outcome.accepted > inputs // 100
    assert outcome.refused > inputs // 2


def test_the_fuzzer_notices_a_wrong_exception(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzz, "CodecError", KeyError)
    with pytest.raises(fuzz.Failure, match="CodecError"):
        fuzz.run("codec", 100, seed=1)


def test_the_fuzzer_notices_a_value_that_is_not_its_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzz, "decode", lambda data, limits: None)
    with pytest.raises(fuzz.Failure, match="does not encode"):
        fuzz.run("codec", 100, seed=1)
