"""A value that belongs to something else lowers the probability of its statement."""

from localeval import Sample
from localeval.fitted.curves import Curve
from localeval.judge import Judge
from localeval.judgements.bindings import MAX_VARIANTS, Binding, variants_of_response
from localeval.judgements.support import Verdict
from localeval.options import DEFAULTS
from localeval.testing import FakeEngine, fake_judge
from localeval.text.sentences import split_sentences

TABLE = "| Ferry | Crew |\n| --- | --- |\n| Marit | 24 |\n| Orla | 31 |"
QUESTION = "What is the crew of the Marit?"
WRONG, RIGHT = "The Marit has a crew of 31.", "The Marit has a crew of 24."
LIKELIHOODS = {RIGHT: -3.0, WRONG: -12.0}


def judge_of(response: str) -> Judge:
    """Return a judge that says yes to all that it is asked, and finds the right crew likelier."""
    answers: list[dict[str, object]] = [{"statements": [response]}, {"verdict": 0.9}]
    return fake_judge(FakeEngine(answers, likelihoods=LIKELIHOODS))


def sample_of(response: str) -> Sample:
    return Sample(user_input=QUESTION, response=response, retrieved_contexts=[TABLE])


def test_a_value_of_another_row_is_unsupported_though_the_judge_says_yes() -> None:
    score = judge_of(WRONG).score("faithfulness", sample_of(WRONG))
    assert score.value == 0.0
    assert score.soft is not None
    assert score.soft < 0.01


def test_a_value_that_is_likelier_than_the_others_changes_nothing() -> None:
    score = judge_of(RIGHT).score("faithfulness", sample_of(RIGHT))
    assert (score.value, score.soft) == (1.0, 0.9)


def test_the_record_has_the_value_that_the_contexts_rather_say() -> None:
    judge = judge_of(WRONG)
    judge.score("faithfulness", sample_of(WRONG))
    records = judge.judge(sample_of(WRONG), ["support"], DEFAULTS, judge.memory)
    [verdict] = records["support"].verdicts  # type: ignore[attr-defined]
    assert verdict.binding == Binding(value="31", alternative="24", margin=-9.0, in_table=True)


def verdict_with(binding: Binding, probability: float) -> Verdict:
    return Verdict(statement="It opened in 1954.", sentence=0, probability=probability, binding=binding)


def test_a_fitted_weight_lowers_a_statement_whose_value_has_a_likelier_alternative() -> None:
    curve = Curve(binding=1.0)
    swapped = verdict_with(Binding(value="1954", alternative="1976", margin=-4.0), 0.9)
    bound = verdict_with(Binding(value="1976", alternative="1954", margin=4.0), 0.9)
    assert swapped.calibrated(curve).probability < 0.5 < bound.calibrated(curve).probability


def test_a_statement_without_values_keeps_its_probability() -> None:
    assert verdict_with(Binding(), 0.75).calibrated(Curve(binding=1.0)).probability == 0.75


def test_a_response_full_of_values_is_compared_with_a_bounded_number_of_texts() -> None:
    years = [str(1000 + i) for i in range(300)]
    contexts = [" ".join(f"House {year} was built in {year}." for year in years)]
    claims = split_sentences(" ".join(f"It was built in {year}." for year in years))
    response = " ".join(claim.text for claim in claims)
    variants = variants_of_response("", response, contexts, claims)
    assert {variant.claim for variant in variants} == set(range(300))
    assert len(variants) <= MAX_VARIANTS
