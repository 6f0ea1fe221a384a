"""Options shared by commands; judging options are made from the fields of `Options` and `EngineSettings`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, Literal, get_args, get_origin

import click
from pydantic.fields import FieldInfo

from localeval.engine.settings import EngineSettings
from localeval.metrics import register_criteria
from localeval.metrics.summary import choose_metrics
from localeval.models.catalog import DEFAULT_CLASSIFIER, DEFAULT_EMBEDDER, DEFAULT_JUDGE
from localeval.options import ARITHMETIC, Options, option_fields, use_of
from localeval.prompts.criteria import as_criteria
from localeval.text.display import escaped_json


def option(*names: str, **settings: Any) -> click.Option:
    """Return an option with an environment variable: LOCALEVAL_N_CTX for `--n-ctx`. Errors name both."""
    variable = names[0].partition("/")[0].lstrip("-").replace("-", "_").upper()
    return click.Option(names, envvar=f"LOCALEVAL_{variable}", show_envvar=True, **settings)


def _of_field(field: FieldInfo) -> dict[str, Any]:
    """Return the settings of a click option: type with bounds, default and help of a field."""
    settings: dict[str, Any] = {"default": field.default, "help": field.description, "show_default": True}
    if field.annotation is bool:
        settings["is_flag"] = True
    elif get_origin(field.annotation) is tuple:
        # Files. They are read before the other options, as -m may name what they define.
        settings.update(type=click.Path(), multiple=True, metavar="FILE", is_eager=True, show_default=False)
        settings["callback"] = _register_criteria
    else:
        settings["type"] = _type_of(field)
    return settings


def _type_of(field: FieldInfo) -> Any:
    """Return click's type for the type of a field.

    >>> _type_of(option_fields()["threshold"])
    <FloatRange 0<=x<=1>
    """
    kind: Any = field.annotation
    if get_origin(kind) is Literal:
        return click.Choice(get_args(kind))
    bounds = {}
    for item in field.metadata:
        if hasattr(item, "ge"):
            bounds["min"] = item.ge
        if hasattr(item, "le"):
            bounds["max"] = item.le
    if kind is int:
        return click.IntRange(**bounds)
    if kind is float:
        return click.FloatRange(**bounds)
    return kind


def _engine_option(name: str, field: str) -> click.Option:
    """Return an option for a field of `EngineSettings`."""
    fields: dict[str, FieldInfo] = vars(EngineSettings)["__pydantic_fields__"]
    return option(name, field, **_of_field(fields[field]))


def _register_criteria(_: click.Context, __: click.Parameter, paths: Sequence[str]) -> Sequence[str]:
    """Make the criteria of the files known. Raises InputError for a file that can't be used."""
    register_criteria(as_criteria(paths))
    return paths


def _split_names(_: click.Context, __: click.Parameter, values: Sequence[str]) -> list[str] | None:
    """Split names of metrics at commas. They may be criteria of a run, which is not read yet."""
    if not values:
        return None
    names = [name.strip() for value in values for name in value.split(",")]
    return [name for name in names if name]


def _find_names(context: click.Context, param: click.Parameter, values: Sequence[str]) -> list[str] | None:
    """Split names of metrics at commas. Raises InputError for no name and for an unknown one."""
    names = _split_names(context, param, values)
    return None if names is None else [metric.name for metric in choose_metrics(names)]


_METRICS: dict[str, Any] = {
    "multiple": True,
    "help": "Metric names, separated by commas; may be given several times.",
}
JSON = click.Option(["--json", "as_json"], is_flag=True, help="Print JSON.")


def print_json(value: Any) -> None:
    """Print a value as JSON, on lines of its own, with control characters escaped."""
    click.echo(escaped_json(json.dumps(value, ensure_ascii=False, indent=1)))


JUDGE = option(
    "--judge",
    "model",
    default=DEFAULT_JUDGE,
    show_default=True,
    help="A name of `localeval models list`, as ollama:qwen2.5:7b, or the path of a GGUF file of an instruct "
    "model; made for Qwen2.5 and Qwen3.",
)
EMBEDDER = option(
    "--embedder",
    default=DEFAULT_EMBEDDER,
    show_default=True,
    help="For answer_relevance: a name of `localeval models list`, or the path of a folder; auto is bge-m3 "
    "if it is here, else a smaller one that is.",
)
CLASSIFIER = option(
    "--classifier",
    default=DEFAULT_CLASSIFIER,
    show_default=True,
    help="For HHEM: a catalog name, or the path of a folder.",
)
THREADS = _engine_option("--threads", "n_threads")
TIMEOUT = option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Time for the judgements of a sample; one that takes longer is failed, and judged again by another "
    "call. A process of its own judges then, and is ended where it hangs.",
)

# The arguments of `Judge.load`.
JUDGE_OPTIONS = [
    JUDGE,
    EMBEDDER,
    CLASSIFIER,
    THREADS,
    _engine_option("--n-ctx", "n_ctx"),
    _engine_option("--gpu-layers", "n_gpu_layers"),
    option(
        "--cache-prefix/--no-cache-prefix",
        default=True,
        show_default=True,
        help="Keep the computed states of the prompts in the user's cache folder, for the next run.",
    ),
]
# The options of `evaluate`: one for each field.
EVALUATE_OPTIONS = [
    option(f"--{name.replace('_', '-')}", **_of_field(field))
    for name, field in option_fields().items()
    if use_of(name).on_command_line
]
# Of the commands that judge; see `split_options`.
JUDGING = [
    option("--metrics", "-m", callback=_find_names, **_METRICS),
    *JUDGE_OPTIONS,
    *EVALUATE_OPTIONS,
    JSON,
]
# Metrics of a finished run, whose criteria may be among them.
METRIC_NAMES = click.Option(["--metrics", "-m"], callback=_split_names, **_METRICS)
# What can be changed without judging again. The default is the value of the run, so no variable changes it.
RESCORING = [
    METRIC_NAMES,
    *(
        click.Option([f"--{name.replace('_', '-')}"], **{**_of_field(option_fields()[name]), "default": None})
        for name in ARITHMETIC
    ),
]


def pop_options(values: dict[str, Any], options: Iterable[click.Parameter]) -> dict[str, Any]:
    """Remove the values of these options from `values`, and return them."""
    return {str(param.name): values.pop(str(param.name)) for param in options}


def split_options(values: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the arguments of `Judge.load` and of `evaluate`, the latter checked before a model is loaded."""
    judge = pop_options(values, JUDGE_OPTIONS)
    options = pop_options(values, EVALUATE_OPTIONS)
    Options.read(options)
    return judge, options
