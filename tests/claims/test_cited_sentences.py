"""To which sentence a citation mark belongs, and which contexts a sentence names."""

import time

from localeval.claims.account import account
from localeval.claims.cited_sentences import (
    Place,
    cited_contexts,
    counts_from_zero,
    marks_of_sentences,
)
from localeval.text.citation_marks import find_citation_marks


def marks(text: str) -> list[str]:
    """The marks of each sentence that is judged, joined."""
    found = account(text)
    places = [Place(claim.start, claim.end, i) for i, claim in enumerate(found.claims)]
    places += [Place(part.start, part.end, None) for part in found.unjudged if part.reason != "no_words"]
    of_sentences = marks_of_sentences(text, sorted(places), len(found.claims))
    return ["".join(mark.text for mark in of_one) for of_one in of_sentences]


def named(text: str, contexts: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The indices of the contexts that a text cites, and the numbers that are out of range."""
    found = find_citation_marks(text)
    read = cited_contexts(found, contexts, from_zero=counts_from_zero(found, contexts))
    return read.cited, read.out_of_range


def test_marks_belong_to_the_sentence_in_which_they_stand() -> None:
    assert marks("Tea [1] grows [2]. Salt is white [3].") == ["[1][2]", "[3]"]


def test_marks_behind_a_sentence_belong_to_it() -> None:
    assert marks("Tea grows. [1] Salt is white. [2][3]") == ["[1]", "[2][3]"]
    assert marks("茶在生长。【1】盐是白的。【2】") == ["【1】", "【2】"]
    assert marks("Tea grows.\n[1]\nSalt is white.\n[2]") == ["[1]", "[2]"]


def test_marks_before_each_sentence_of_a_line_belong_to_the_one_behind_them() -> None:
    assert marks("[1] Tea grows. [2] Salt is white.") == ["[1]", "[2]"]
    assert marks("- [1] Tea grows.\n- [2] Salt is white.") == ["[1]", "[2]"]


def test_a_sentence_without_marks_has_none() -> None:
    assert marks("Tea grows. Salt is white [1].") == ["", "[1]"]


def test_marks_of_a_refusal_or_in_a_list_of_sources_belong_to_no_sentence() -> None:
    assert marks("Tea grows [1]. The documents do not say who picks it [2].") == ["[1]"]
    assert marks("Tea grows [1].\n\nSources:\n[2] tea.pdf\n[3] https://a.org") == ["[1]"]
    assert marks("茶在生长【1】。\n\n参考资料：\n【2】 茶.pdf") == ["【1】"]


def test_a_context_that_a_sentence_cites_twice_counts_once() -> None:
    assert named("Tea grows [1][1, 2].", 3) == ((0, 1), ())


def test_numbers_beyond_the_contexts_are_out_of_range() -> None:
    assert named("Tea grows [2][7].", 5) == ((1,), (7,))


def test_a_range_beyond_the_contexts_is_cut_and_its_end_is_out_of_range() -> None:
    assert named("Tea grows [4-9].", 5) == ((3, 4), (9,))


def test_a_number_far_beyond_the_contexts_is_no_citation() -> None:
    assert named("Tea grows [55][56][250].", 5) == ((), (55,))


def test_numbers_count_from_zero_where_a_zero_occurs_and_the_last_number_does_not() -> None:
    assert named("Tea grows [0]. Salt is white [2].", 3) == ((0, 2), ())
    assert named("Tea grows [0]. Salt is white [3].", 3) == ((2,), (0,))
    assert named("Tea grows ##1$$.", 3) == ((1,), ())


def test_marks_are_sorted_in_linear_time() -> None:
    for text in ("[1]" * 30_000, "Tea. [1] " * 10_000, "[1] Tea.\n" * 10_000):
        places = [Place(i, i + 3, i // 9) for i in range(0, len(text) - 9, 9)]
        start = time.process_time()
        marks_of_sentences(text, places, len(places))
        assert time.process_time() - start < 5
