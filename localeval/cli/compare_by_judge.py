"""What `compare` asks a judge: which run answers better (--prefer), may it replace another one (--under)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from localeval.cli.options import JUDGE_OPTIONS, pop_options, print_json
from localeval.errors import InputError
from localeval.judge import Judge
from localeval.judgements.journal import JOURNAL
from localeval.report.progress import live_line
from localeval.runs import folder as run_folder
from localeval.system.terminal import say

# Both responses are shown to the judge alone; --under takes the run's embedder and classifier.
_JUDGE_OPTIONS = [option for option in JUDGE_OPTIONS if option.name not in ("embedder", "classifier")]
BY_JUDGE: list[click.Parameter] = [
    click.Option(
        ["--prefer"],
        metavar='["QUESTION"]',
        help="Ask the judge, for each sample, which of the two responses is better, in both orders; by "
        "default, which answers the question better, given the contexts.",
    ),
    click.Option(
        ["--under"],
        metavar="JUDGE",
        help="With one RUN: judge samples of it by this judge, and tell whether it may replace the run's.",
    ),
    click.Option(
        ["--sample"],
        type=click.IntRange(min=2),
        default=200,
        show_default=True,
        help="With --under: number of samples, half of them with the rarer verdict.",
    ),
    click.Option(
        ["--margin"],
        type=click.FloatRange(min=0, max=0.5, min_open=True),
        default=0.03,
        show_default=True,
        help="With --under: a shift of the mean that does not matter.",
    ),
    click.Option(
        ["--cut"],
        type=click.FloatRange(min=0, max=1, min_open=True),
        default=0.5,
        show_default=True,
        help="With --under: value from which a sample counts as a yes.",
    ),
    click.Option(
        ["--output", "-o"],
        type=click.Path(path_type=Path),
        help="A file: also write the comparison as an HTML page. With --prefer or --under: the folder that "
        "keeps what the judge says; a second call goes on where the first ended.  [default: runs/A-or-B, or "
        "RUN-under-JUDGE]",
    ),
    click.Option(["--quiet", "-q"], is_flag=True, help="Show no live line."),
    *_JUDGE_OPTIONS,
]


def is_question(word: str) -> bool:
    """Return whether the word behind --prefer is its question: neither an option nor the folder of a run.

    >>> is_question("Which is more polite?"), is_question("--json"), is_question(""), is_question(".")
    (True, False, False, False)
    """
    return bool(word) and not word.startswith("-") and not Path(word).is_dir()


def compared_by_judge(runs: Sequence[Path], as_json: bool, values: dict[str, Any]) -> bool:
    """Ask the judge, and print what it says; return whether --prefer or --under asked for that.

    Raises InputError for both, and for an option that is of use with one of them only.
    """
    judge = pop_options(values, _JUDGE_OPTIONS)
    prefer = values["prefer"]
    under = values["under"]
    if prefer is None and under is None:
        _check_unused(("sample", "margin", "cut", "quiet", *judge), "--prefer or --under")
        return False
    if prefer is not None and under is not None:
        raise InputError("--prefer and --under ask different things; give one of them.")
    _check_unused(("fail_on_drop", "max_failed", "max_undefined", "by"), "two runs and no judge")
    if prefer is not None:
        _check_unused(("sample", "margin", "cut"), "--under")
        result: Any = _prefer(runs, values, judge)
    else:
        _check_unused(("model",), "--prefer; --under names its judge itself")
        result = _under(runs, values, judge)
    if as_json:
        print_json(result.to_dict())
    else:
        click.echo(result)
    return True


def _check_unused(names: Sequence[str], use: str) -> None:
    """Raise InputError for an option that was given on the command line and does nothing here."""
    context = click.get_current_context()
    for param in context.command.params:
        if param.name in names and context.get_parameter_source(param.name) == ParameterSource.COMMANDLINE:
            raise InputError(f"{param.opts[0]} is for {use}; leave it out here.")


def _prefer(runs: Sequence[Path], values: Mapping[str, Any], judge: Mapping[str, Any]) -> Any:
    from localeval.analysis.prefer import prefer

    if len(runs) != 2:
        raise InputError(
            f'--prefer takes two runs, and {len(runs)} are given; write: compare A B --prefer "QUESTION".'
        )
    a, b = runs
    output = values["output"] or Path("runs") / f"{a.resolve().name}-or-{b.resolve().name}"
    with Judge.load(**judge) as loaded, live_line(values["quiet"]) as line:
        result = prefer(a, b, loaded, values["prefer"] or None, output, line)
    say(f"judgements: {output / JOURNAL}")
    return result


def _under(runs: Sequence[Path], values: Mapping[str, Any], judge: dict[str, Any]) -> Any:
    from localeval.analysis.replacement import compare_under, default_folder, load_judge_for

    if len(runs) != 1:
        raise InputError(
            f"--under takes one run, and {len(runs)} are given; write: compare RUN --under JUDGE."
        )
    [run] = runs
    del judge["model"]
    if click.get_current_context().get_parameter_source("n_ctx") == ParameterSource.DEFAULT:
        # The run's own length of context holds.
        del judge["n_ctx"]
    output = values["output"] or default_folder(run, values["under"])
    config = run_folder.load_config(run)
    numbers = {name: values[name] for name in ("sample", "margin", "cut")}
    quiet = values["quiet"]
    with load_judge_for(config, values["under"], **judge) as loaded, live_line(quiet) as line:
        result = compare_under(run, loaded, output, watch=None if quiet else line, **numbers)
    say(f"records and scores: {output / run_folder.RESULTS}")
    return result
