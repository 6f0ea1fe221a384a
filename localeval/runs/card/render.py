"""A judge card as a table for the terminal, and as an HTML page that needs no other file."""

from __future__ import annotations

from importlib import resources
from typing import Any

from localeval.judgements.calibration import Curve
from localeval.report.terminal import new_table, printed
from localeval.runs.card import Card
from localeval.runs.card.parts import Part, ScoreFigures, Shown
from localeval.runs.card.sentences import DECIDED
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
IN_THE_TABLE = (
    *("auroc", "pair_accuracy", "macro_f1", "auroc_within"),
    *("balanced_accuracy", "f1_0", "kappa", "skill", "calibration_error"),
)
LEADING = {
    "labels": ("soft", "auroc", "labels"),
    "pairs": ("soft", "pair_accuracy", "pairs"),
    "sentences": (DECIDED, "macro_f1", "rows"),
}
"""Of each kind of card the first score, its first figure, and what is counted."""


def as_text(card: Card) -> str:
    """The main figures with their intervals, part by part; all of them are in the JSON and the HTML."""
    lines: list[str] = []
    for part in card.parts:
        lines += [printable(title(part, card)), *_table(part), ""]
    return printable_lines("\n".join([*lines, *notes(card), f"signature {card.signature}"]))


def _table(part: Part) -> list[str]:
    columns = [key for key in IN_THE_TABLE if key in _shown_columns(part)]
    table = new_table("score")
    table.columns[0].no_wrap = True
    for heading in (*(COLUMNS[key] for key in columns), "over the baseline"):
        table.add_column(heading, no_wrap=True)
    for name, own in part.scores.items():
        table.add_row(name, *(interval(own.figures.get(key)) for key in columns), interval(own.gain))
    return printed(table, 30 + 24 * (len(columns) + 1))


def notes(card: Card) -> list[str]:
    """What has to be known to read the figures, one line each."""
    lines = [width_told(card)]
    if any(own[0] is not None and own[1] is None for own in _all_shown(card)):
        lines.append("a figure without an interval: too few groups to say how it is on other samples")
    if card.not_scored:
        missing = ", ".join(f"{count} {reason}" for reason, count in card.not_scored.items())
        counted = "counted as 0" if card.kind == "pairs" else "in no figure"
        lines.append(f"not scored, and {counted}: {printable(missing)}")
    if card.rows is not None:
        lines.append(
            f"a sample takes {card.rows:.0f} rows and {card.seconds:.1f} s (medians, without worked examples)"
        )
    lines.append(f"baseline: {card.baseline}, which needs no model")
    if card.signature.raw:
        lines.append("soft and value are raw: no calibration is in force for this judge and these options")
    for language, fitted in card.in_force.items():
        same = fitted.get("dataset") == card.dataset
        also = ": these labels, so read the lines that say refitted" if same else ""
        known = f"{fitted.get('labels')} labels of {fitted.get('dataset')}, {fitted.get('date')}"
        lines.append(printable(f"in force for {language}: a calibration fitted on {known}{also}"))
    for language, number in card.raw.items():
        told = f"no calibration is in force for {language}: its {number} scored samples are raw"
        lines.append(printable(told))
    for one in card.calibrations:
        error, skill = (interval(one.figures.get(key)) for key in ("calibration_error", "skill"))
        lines.append(
            f"calibration fitted for {one.language}: {curve_told(one.curve)}; "
            f"of P(all supported), cross-validated: error {error}, skill {skill}"
        )
    return lines


def _all_shown(card: Card) -> list[Shown]:
    scores = [own for part in card.parts for own in part.scores.values()]
    return [shown for own in scores for shown in (*own.figures.values(), own.gain) if shown is not None]


def width_told(card: Card) -> str:
    whole = card.parts[0]
    score, key, counted = LEADING[card.kind]
    _, low, high = whole.scores[score].figures[key]
    number = f"{whole.good + whole.bad} {counted}"
    if low is None or high is None:
        return f"{number}: no interval can be told"
    return f"{number}: {COLUMNS[key]} of {score} is known to ±{(high - low) / 2:.2f}"


def curve_told(curve: Curve) -> str:
    if curve.steps:
        return f"isotonic, {len(curve.steps)} steps"
    lexical = f"{curve.coverage:+.3f} x coverage " if curve.coverage else ""
    lexical += f"{curve.unknown_number:+.3f} x unknown numbers " if curve.unknown_number else ""
    return f"sigmoid({curve.slope:.3f} x logit(p) {lexical}{curve.intercept:+.3f})"


def title(part: Part, card: Card) -> str:
    if card.kind == "labels":
        return f"{part.name}: {part.good} of label 1, {part.bad} of label 0"
    return f"{part.name}: {part.good} {LEADING[card.kind][2]}"


def interval(figure: Shown | None) -> str:
    if figure is None or figure[0] is None:
        return "-"
    value, low, high = figure
    return f"{value:.2f}" if low is None else f"{value:.2f} ({low:.2f} to {high:.2f})"


def as_html(card: Card) -> str:
    """One page: every figure, the reliability diagram, the signature. What came from outside is escaped."""
    from jinja2 import Environment

    source = resources.files("localeval.runs.card").joinpath("card.html.j2").read_text(encoding="utf-8")
    template = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(source)
    return template.render(
        card=card,
        parts=[(title(part, card), _shown_columns(part), part.scores) for part in card.parts],
        columns=COLUMNS,
        interval=interval,
        notes=notes(card),
        diagrams=[_diagram(name, found) for name, found in card.reliability.items()],
    )


def _shown_columns(part: Part) -> list[str]:
    scores: list[ScoreFigures] = list(part.scores.values())
    return [key for key in COLUMNS if any(key in own.figures for own in scores)]


def _diagram(name: str, found: list[tuple[float, float, int]]) -> dict[str, Any]:
    """Places in a square of 100 units: what was said to the right, what was found upwards."""
    points = [(round(100 * x, 1), round(100 - 100 * y, 1), x, y, n) for x, y, n in found]
    return {"name": name, "points": points, "line": " ".join(f"{x},{y}" for x, y, *_ in points)}
