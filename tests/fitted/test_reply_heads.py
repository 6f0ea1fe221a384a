"""Heads for replies: what they compute, and for which judge and prompt one is in force."""

from pathlib import Path

import numpy as np
import pytest

import localeval
from localeval.errors import InputError
from localeval.fitted.files import shipped
from localeval.fitted.heads import LinearMap
from localeval.fitted.reply_heads import ReplyHead, reply_heads_for
from localeval.options import Options
from tests.heads import reply_head

SHIPPED = shipped(ReplyHead)
JUDGE = SHIPPED[0].judge.sha256


def test_probabilities_are_the_softmax_of_the_logits_of_a_state() -> None:
    maps = {
        "a": LinearMap(states=(1.0, 0.0)),
        "b": LinearMap(states=(0.0, 1.0)),
        "c": LinearMap(states=(0, 0)),
    }
    # Logits of ln 6, ln 3 and 0: six, three and one of ten.
    found = reply_head(maps).of(np.log(np.array([6, 3], np.float32)))
    assert found == pytest.approx({"a": 0.6, "b": 0.3, "c": 0.1})


def test_a_head_with_outcomes_of_two_widths_is_invalid() -> None:
    with pytest.raises(ValueError, match="different numbers of weights"):
        reply_head({"a": LinearMap(states=(1.0,)), "b": LinearMap(states=(1.0, 2.0))})


def test_a_head_is_refused_for_a_model_of_another_shape() -> None:
    head = reply_head({"a": LinearMap(states=(1.0, 0.0)), "b": LinearMap(states=(0.0, 0.0))})
    head.check_fits(width=2, layers=3)
    for width, layers in ((3, 3), (2, 1)):
        with pytest.raises(InputError, match="--head none"):
            head.check_fits(width, layers)


def test_the_quick_start_judge_has_a_head_for_both_prompts_of_abstention_in_both_languages() -> None:
    assert sorted(reply_heads_for(JUDGE, Options())) == [
        "abstention/en",
        "abstention/zh",
        "answerable/en",
        "answerable/zh",
    ]


def test_no_head_is_in_force_for_another_judge_nor_where_none_is_chosen() -> None:
    assert reply_heads_for("0" * 64, Options()) == {}
    assert reply_heads_for("", Options()) == {}
    assert reply_heads_for(JUDGE, Options(head="none")) == {}


def test_a_head_is_not_in_force_for_a_prompt_of_ones_own() -> None:
    built_in = Path(localeval.__file__).parent / "prompts" / "en" / "abstention.toml"
    text = built_in.read_text(encoding="utf-8") + "# mine\n"
    own = Options(prompts={"abstention": {"en": text}})
    assert "abstention/en" not in reply_heads_for(JUDGE, own)
    assert "abstention/zh" in reply_heads_for(JUDGE, own)
