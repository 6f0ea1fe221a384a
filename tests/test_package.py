"""The package itself: its public names."""

import pytest

import localeval


@pytest.mark.parametrize("name", localeval.__all__)
def test_a_public_name_can_be_imported(name: str) -> None:
    assert getattr(localeval, name) is not None


def test_an_unknown_name_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'evalute'"):
        _ = localeval.evalute
