"""A judgement that no report was told about is shown by what it decided."""

import csv
import io
from dataclasses import replace
from typing import ClassVar

from localeval import Result
from localeval.judgements.base import Record
from localeval.judgements.decision import Decision, DecisionContext, Kind
from localeval.report import html
from localeval.report.tables import statements_csv
from tests.reports import METRICS_SHOWN, Page, small


class ToneRecord(Record):
    """Whether the response is polite: the record of a judgement as a caller would write it."""

    polite: float

    def decisions(self, context: DecisionContext) -> tuple[Decision, ...]:
        decision = Decision(
            text=context.sample.response or "",
            label="polite",
            probability=self.polite,
            is_yes=self.polite >= context.threshold,
            threshold=context.threshold,
            column="response",
            reason="It greets nobody <b>at all</b>.",
        )
        return (decision,)


class RecentRecord(Record):
    """Which contexts are recent: decisions of a kind that the page knows, with a label that it does not."""

    decides: ClassVar[Kind] = "context"
    texts_of: ClassVar[str] = "retrieved_contexts"

    recent: tuple[float, ...]

    def decisions(self, context: DecisionContext) -> tuple[Decision, ...]:
        return tuple(
            Decision(text="", label="recent", probability=share, column="retrieved_contexts", context=i)
            for i, share in enumerate(self.recent)
        )


def result_with(record: Record) -> Result:
    """A result of one sample with one more record."""
    [first, *_] = small().samples
    records = {**first.records, "mine": record}
    return Result([replace(first, records=records)], METRICS_SHOWN, small().signature)


def rows_of(result: Result) -> list[dict[str, str]]:
    """The rows of statements.csv that have decisions of this judgement."""
    text = "".join(statements_csv(result)).removeprefix("\ufeff")
    return [row for row in csv.DictReader(io.StringIO(text)) if row["judgement"] == "mine"]


def page_text(result: Result) -> str:
    return " ".join(Page("".join(html.pieces(result))).text.split())


def test_the_page_shows_its_decisions_as_a_plain_table() -> None:
    text = page_text(result_with(ToneRecord(polite=0.25)))
    assert "Decisions判断: mine" in text
    assert "Tea grows on the hill of Arl.Reason理由 It greets nobody <b>at all</b>." in text
    assert "polite: no否 0.25" in text


def test_the_page_has_no_table_of_decisions_without_such_a_judgement() -> None:
    assert "Decisions" not in page_text(small())


def test_a_label_of_ones_own_stands_on_each_context_as_it_is() -> None:
    assert "· 0.75 recent" in page_text(result_with(RecentRecord(recent=(0.75,))))


def test_a_row_of_statements_csv_has_its_decision_on_the_response() -> None:
    [mine] = rows_of(result_with(ToneRecord(polite=0.25)))
    assert (mine["statement"], mine["probability"], mine["verdict"]) == (
        "Tea grows on the hill of Arl.",
        "0.25",
        "0",
    )
    assert mine["reason"] == "It greets nobody <b>at all</b>."


def test_a_row_of_statements_csv_has_its_decision_on_a_context() -> None:
    [mine] = rows_of(result_with(RecentRecord(recent=(0.1,))))
    assert mine["context"] == "0"
    assert (mine["probability"], mine["verdict"]) == ("0.1", "0")


def test_the_printed_table_is_the_same_with_it() -> None:
    [first, *_] = small().samples
    without = Result([first], METRICS_SHOWN, small().signature)
    assert str(result_with(ToneRecord(polite=0.25))) == str(without)
