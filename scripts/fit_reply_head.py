"""Fit a head that reads the state in which a judge is about to reply, from labelled rows.

    scripts/fit_reply_head PROMPT ITEM LABEL LAYER FILE... -o FILE [--judge NAME] [--threads N]

A line of a FILE is a JSON object with `id`, `lang`, `source` (who wrote it), texts, and `items`, each with
further texts and LABEL, the column of the outcome; see `abstention_fit.jsonl` in tests/data. The texts are
those for which the prompt has places. Prints the share of right outcomes where no row of the same source was
fitted on, and writes a head for each language, with the same weights: both languages teach both.
"""

from __future__ import annotations

import datetime
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
import numpy.typing as npt

from localeval import Judge
from localeval.analysis.fit_head import rounded_weights
from localeval.errors import LocalevalError
from localeval.fitted.files import FittedFor, file_text
from localeval.fitted.heads import LinearMap
from localeval.fitted.reply_heads import ReplyHead
from localeval.judgements.replies import YesOrNo
from localeval.models.catalog import DEFAULT_JUDGE
from localeval.options import Options
from localeval.prompts import join
from localeval.statistics.agreement import Figure, rounded
from localeval.statistics.intervals import mean_interval

COMPONENTS = 96  # principal components of the states: more of them learn the rows by heart
INVERSE_RIDGE = 0.1  # scikit-learn's C

Row = Mapping[str, Any]
States = npt.NDArray[np.float64]


def read_rows(files: Sequence[Path], label: str) -> list[Row]:
    """Read the items of all files, each with the texts of its line; yes and no are outcomes, too."""
    lines = [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    rows: list[Row] = []
    for number, line in enumerate(map(json.loads, lines)):
        items = line.pop("items")
        for item in items:
            outcome = {True: "yes", False: "no"}.get(item[label], item[label])
            rows.append({**line, **item, "label": outcome, "group": number})
    return rows


def compute_states(judge: Judge, name: str, item: str, layer: int, rows: Sequence[Row]) -> States:
    """Return the state before the reply to each row: (rows, width)."""
    options = Options()
    states = []
    with click.progressbar(rows, label=f"{len(rows)} rows") as shown:
        for row in shown:
            prompt = options.prompt(name, row["lang"])
            texts = {key: join(text) if isinstance(text, list) else text for key, text in row.items()}
            first, *others = prompt.items
            prefix = prompt.prefix(first, YesOrNo, **dict.fromkeys(others, YesOrNo))
            asked = [prompt.render_item(item, **texts)]
            context = prompt.render_context(**texts)
            states.append(judge.engine.states_before_replies(prefix, context, asked, YesOrNo, layer)[0])
    return np.array(states, float)


def fit(states: States, labels: Sequence[str]) -> dict[str, LinearMap]:
    """Fit a multinomial logistic regression to the principal components, as a map of the states."""
    from sklearn.decomposition import PCA
    from sklearn.linear_model import LogisticRegression

    outcomes = sorted(set(labels))
    mean = states.mean(axis=0)
    scale = states.std(axis=0) + 1e-6
    components = PCA(min(COMPONENTS, len(states) // 4), random_state=0).fit((states - mean) / scale)
    parts = components.transform((states - mean) / scale)
    spread = parts.std(axis=0)
    regression = LogisticRegression(C=INVERSE_RIDGE, max_iter=5000).fit(parts / spread, labels)
    weights = regression.coef_ / spread @ components.components_ / scale
    biases = regression.intercept_ - weights @ mean
    if len(outcomes) == 2:
        # The regression tells the logit of the second outcome alone.
        weights = np.array([np.zeros_like(weights[0]), weights[0]])
        biases = np.array([0.0, biases[0]])
    return {
        outcome: LinearMap(states=rounded_weights(own), bias=round(float(bias), 5))
        for outcome, own, bias in zip(outcomes, weights, biases, strict=True)
    }


def likeliest(outcomes: Mapping[str, LinearMap], states: States) -> list[str]:
    """Return the likeliest outcome of each state."""
    logits = np.array([linear.of(states.astype(np.float32)) for linear in outcomes.values()])
    return [[*outcomes][i] for i in logits.argmax(axis=0)]


def across_sources(states: States, rows: Sequence[Row]) -> list[bool]:
    """Return for each row whether a fit on the rows of all other sources finds its outcome."""
    labels = np.array([row["label"] for row in rows])
    sources = np.array([row["source"] for row in rows])
    right = np.zeros(len(rows), bool)
    for source in sorted(set(sources)):
        own = sources == source
        right[own] = np.array(likeliest(fit(states[~own], labels[~own].tolist()), states[own])) == labels[own]
        print(f"{source}: {right[own].sum()} of {own.sum()} right by a fit on the others")
    return right.tolist()


@click.command()
@click.argument("name", metavar="PROMPT")
@click.argument("item")
@click.argument("label")
@click.argument("layer", type=int)
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="File of the heads.")
@click.option("--judge", "judge_name", default=DEFAULT_JUDGE, show_default=True)
@click.option("--threads", default=0, help="Default: the physical cores.")
def main(
    name: str,
    item: str,
    label: str,
    layer: int,
    files: Sequence[Path],
    output: Path,
    judge_name: str,
    threads: int,
) -> None:
    """Fit a head that reads the state in which a judge is about to reply, from labelled rows."""
    rows = read_rows(files, label)
    try:
        with Judge.load(judge_name, n_threads=threads) as judge:
            states = compute_states(judge, name, item, layer, rows)
            fitted_for = FittedFor(name=judge.model["name"], sha256=judge.model["sha256"])
    except LocalevalError as error:
        raise click.ClickException(str(error)) from error
    heads = fit_heads(states, rows, fitted_for, name, item, layer)
    output.write_text(file_text(heads), encoding="utf-8")


def fit_heads(
    states: States, rows: Sequence[Row], fitted_for: FittedFor, name: str, item: str, layer: int
) -> list[ReplyHead]:
    """Fit a head for each language of the rows, and print how many are right by a fit on other sources."""
    right = across_sources(states, rows)
    outcomes = fit(states, [row["label"] for row in rows])
    heads = []
    for language in sorted({row["lang"] for row in rows}):
        own = [i for i, row in enumerate(rows) if row["lang"] == language]
        shares = [float(right[i]) for i in own]
        interval = mean_interval(shares, groups=[rows[i]["group"] for i in own])
        share = sum(shares) / len(shares)
        low, high = interval or (share, share)
        heads.append(
            ReplyHead(
                judge=fitted_for,
                language=language,
                prompt=name,
                prompt_sha256=Options().prompt(name, language).sha256,
                item=item,
                layer=layer,
                outcomes=outcomes,
                fitted_on={
                    "sources": dict(Counter(row["source"] for row in rows)),
                    "labels": dict(Counter(row["label"] for row in rows)),
                    "date": datetime.date.today().isoformat(),
                },
                figures=rounded({"accuracy": Figure(share, low, high)}),
            )
        )
        print(f"{language}: {share:.3f} of {len(own)} rows right, each by a fit on other sources")
    return heads


if __name__ == "__main__":
    main()
