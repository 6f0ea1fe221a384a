"""A judge card as a table for the terminal, and as an HTML page that needs no other file."""

from __future__ import annotations

import math
from importlib import resources

from localeval.analysis.card import Card
from localeval.analysis.card_figures import Part
from localeval.report.text import new_table, printed
from localeval.text.display import printable, printable_lines

COLUMNS = {
    "auroc": "AUROC",
    "pair_accuracy": "pairs right",
    "macro_f1": "F1 within a row",
    "auroc_within": "AUROC within a row",
    "balanced_accuracy": "balanced accuracy",
    "precision": "precision",
    "recall": "recall",
    "f1": "F1",
    "precision_0": "precision of 0",
    "recall_0": "recall of 0",
    "f1_0": "F1 of 0",
    "kappa": "kappa",
    "brier": "Brier score",
    "skill": "Brier skill",
    "calibration_error": "calibration error",
}
ON_THE_PAGE_ALONE = ("precision", "recall", "f1", "precision_0", "recall_0", "brier")
COUNTED = {"labels": "labels", "pairs": "pairs", "sentences": "rows"}


def as_text(card: Card) -> str:
    """Render the main figures with their intervals, part by part; the JSON and the HTML have all of them."""
    lines: list[str] = []
    for part in card.parts:
        keys = [key for key in _columns(part) if key not in ON_THE_PAGE_ALONE]
        table = new_table("score")
        table.columns[0].no_wrap = True
        for heading in [*(COLUMNS[key] for key in keys), "over the baseline"]:
            table.add_column(heading, no_wrap=True)
        for name, score in part.scores.items():
            cells = [_interval(score.figures.get(key)) for key in keys]
            table.add_row(name, *cells, _interval(score.gain))
        width = 30 + 24 * (len(keys) + 1)
        lines += [printable(_title(part, card)), *printed(table, width), ""]
    return printable_lines("\n".join([*lines, *_notes(card), f"signature {card.signature}"]))


def as_html(card: Card) -> str:
    """Render a page of every figure, the reliability diagrams and the signature. Foreign text is escaped.

    A diagram is a square of 100 units: the predicted probability to the right, the observed share upwards.
    """
    from jinja2 import Environment

    source = resources.files("localeval.analysis").joinpath("card.html.j2").read_text(encoding="utf-8")
    template = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(source)
    return template.render(
        card=card,
        parts=[(_title(part, card), _columns(part), part.scores) for part in card.parts],
        columns=COLUMNS,
        interval=_interval,
        notes=_notes(card),
        diagrams={
            name: [(round(100 * x, 1), round(100 - 100 * y, 1), x, y, n) for x, y, n in bins]
            for name, bins in card.reliability.items()
        },
    )


def _notes(card: Card) -> list[str]:
    """List what a reader of the figures has to know, one line each."""
    lines: list[str] = []
    if card.certificate is not None:
        lines += card.certificate.lines()
    if card.not_scored:
        missing = ", ".join(f"{count} {reason}" for reason, count in card.not_scored.items())
        where = "counted as 0" if card.kind == "pairs" else "in no figure"
        lines.append(f"not scored, and {where}: {missing}")
    if card.cannot_tell:
        lines.append(f"left out, as who labelled could not tell: {card.cannot_tell}")
    if card.tokens is not None:
        lines.append(
            f"a sample takes {card.tokens:.0f} tokens and {card.seconds:.1f} s "
            "(medians, without worked examples)"
        )
    lines.append(f"baseline: {card.baseline}, which needs no model")
    if card.signature.raw:
        lines.append("soft and value are raw: no calibration is in force for this judge and these options")
    lines += _notes_in_force(card)
    for language, count in card.raw.items():
        lines.append(f"no calibration is in force for {language}: its {count} scored samples are raw")
    for calibration in card.calibrations:
        error = _interval(calibration.figures.get("calibration_error"))
        skill = _interval(calibration.figures.get("skill"))
        lines.append(
            f"calibration fitted for {calibration.language}: P(all supported) has, cross-validated, "
            f"error {error} and skill {skill}"
        )
    return [printable(line) for line in lines]


def _notes_in_force(card: Card) -> list[str]:
    """Say what the calibrations in force were fitted on, and where that may be this very data."""
    has_refitted = any("soft refitted" in part.scores for part in card.parts)
    lines = []
    for language, fitted in card.in_force.items():
        source = f"{fitted.get('labels')} labels of {fitted.get('dataset')}, {fitted.get('date')}"
        line = f"in force for {language}: a calibration fitted on {source}"
        if has_refitted and fitted.get("dataset") == card.dataset:
            line += "; if these are the same labels, read the lines that say refitted"
        lines.append(line)
    return lines


def _title(part: Part, card: Card) -> str:
    if card.kind == "labels":
        return f"{part.name}: {part.good} of label 1, {part.bad} of label 0"
    return f"{part.name}: {part.good} {COUNTED[card.kind]}"


def _interval(figure: tuple[float, float, float] | None) -> str:
    """Format a figure with its interval, where it has one; "-" where it is not defined."""
    if figure is None:
        return "-"
    value, low, high = figure
    if math.isnan(value):
        return "-"
    if math.isnan(low):
        return f"{value:.2f}"
    return f"{value:.2f} ({low:.2f} to {high:.2f})"


def _columns(part: Part) -> list[str]:
    return [key for key in COLUMNS if any(key in score.figures for score in part.scores.values())]
