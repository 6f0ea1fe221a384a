"""The options that every judging command shares. Each has an environment variable."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar, get_args

import click
from click.core import ParameterSource

from localeval.engine.interface import EngineSettings
from localeval.errors import InputError
from localeval.models.catalog import DEFAULT_CLASSIFIER, DEFAULT_EMBEDDER, DEFAULT_JUDGE
from localeval.prompts.options import DEFAULTS, Mode, Options, Relevance, StatementsBy, SupportBy, VerdictForm

F = TypeVar("F", bound=Callable[..., Any])


def _option(name: str, help_text: str, **how: Any) -> Callable[[F], F]:
    """An option with its variable: `--n-ctx` is LOCALEVAL_N_CTX. Click names both when it refuses a value."""
    variable = "LOCALEVAL_" + name.lstrip("-").replace("-", "_").upper()
    return click.option(name, envvar=variable, show_envvar=True, help=help_text, **how)


def _choice(name: str, form: Any, help_text: str) -> Callable[[F], F]:
    default = getattr(DEFAULTS, name.lstrip("-").replace("-", "_"))
    return _option(name, help_text, type=click.Choice(get_args(form)), default=default, show_default=True)


def _number(name: str, help_text: str) -> Callable[[F], F]:
    default = getattr(DEFAULTS, name.lstrip("-"))
    return _option(name, help_text, type=type(default), default=default, show_default=True)


class _Names(click.types.StringParamType):
    envvar_list_splitter = ","  # else the variable would be cut at spaces


metrics_option = click.option(
    "-m",
    "--metrics",
    envvar="LOCALEVAL_METRICS",
    show_envvar=True,
    type=_Names(),
    multiple=True,
    callback=lambda _context, _option, given: ",".join(given) if given else None,
    help="Metric names, with commas between; may be given several times.",
)

_MODELS: tuple[Callable[[Any], Any], ...] = (
    _option("--judge", "A catalog name, or a path to a GGUF file.", default=DEFAULT_JUDGE, show_default=True),
    _option(
        "--embedder",
        "For answer_relevance: a catalog name, or the path of a folder.",
        default=DEFAULT_EMBEDDER,
        show_default=True,
    ),
    _option(
        "--classifier",
        "For HHEM: a catalog name, or the path of a folder.",
        default=DEFAULT_CLASSIFIER,
        show_default=True,
    ),
)
_THREADS = _option("--threads", "Default: the physical cores.", type=int, default=0)

_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    metrics_option,
    *_MODELS,
    _choice("--statements", StatementsBy, "Break sentences into statements, or take them whole (faster)."),
    _choice("--verdict", VerdictForm, "Read the verdict at once, or after a written reason (slower)."),
    _choice("--support-by", SupportBy, "Who decides whether a statement is supported."),
    _option("--explain", "Add a reason to each verdict of the response on the contexts.", is_flag=True),
    _number("--threshold", "Probability from which a verdict counts as yes."),
    _number("--questions", "Questions that answer_relevance draws from the response."),
    _number("--temperature", "Of these draws."),
    _choice("--relevance", Relevance, "Whose sufficiency counts in answer_relevance."),
    _choice("--mode", Mode, "Of factual_correctness."),
    _number("--beta", "Of factual_correctness: above 1, recall weighs more."),
    _option(
        "--calibration",
        "auto (the shipped one, where it fits), none, or a file that `card` wrote.",
        default=DEFAULTS.calibration,
        show_default=True,
    ),
    _option(
        "--head",
        "auto (the shipped one, where it fits), none, or a file that `fit` wrote.",
        default=DEFAULTS.head,
        show_default=True,
    ),
    _THREADS,
    _option("--n-ctx", "Tokens of context.", type=int, default=8192, show_default=True),
    _option("--gpu-layers", "Layers on a GPU.", type=int, default=0, show_default=True),
    click.option(
        "--keep-trunks/--no-keep-trunks",
        envvar="LOCALEVAL_KEEP_TRUNKS",
        show_envvar=True,
        default=True,
        show_default=True,
        help="Keep what is computed of the prompts in the user's cache folder, for the next run.",
    ),
    _number("--seed", "Of every draw."),
    click.option("--json", "as_json", is_flag=True, help="Print JSON."),
)


# The engine's names of options that are called otherwise here, or the same.
_SETTINGS = {"n_threads": "threads", "n_ctx": "n_ctx", "n_gpu_layers": "gpu_layers"}


def judging_options(function: F) -> F:
    return _with(_OPTIONS, function)


def model_options(function: F) -> F:
    """Of these the models and the threads."""
    return _with((*_MODELS, _THREADS), function)


def judge_options(function: F) -> F:
    """Of these the judge and the threads."""
    return _with((_MODELS[0], _THREADS), function)


def _with(options: Sequence[Callable[[Any], Any]], function: F) -> F:
    for option in reversed(options):
        function = option(function)
    return function


def split(given: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """(what `Judge.load` takes, what `Options` takes); the options are checked before a model loads."""
    models = {
        "model": given.pop("judge"),
        "embedder": given.pop("embedder"),
        "classifier": given.pop("classifier"),
        "keep_trunks": given.pop("keep_trunks"),
    }
    settings = {setting: given.pop(option) for setting, option in _SETTINGS.items()}
    with named_as_given():
        EngineSettings(**settings)
        Options.read(given)
    return {**models, **settings}, given


@contextmanager
def named_as_given() -> Iterator[None]:
    """An InputError that is about a parameter ("n_threads is -1; ...") names its option, or its variable."""
    try:
        yield
    except InputError as error:
        name, found, rest = str(error).partition(" is ")
        if given := given_as(_SETTINGS.get(name, name)):
            raise InputError(f"{given}{found}{rest}") from None
        raise


def given_as(name: str) -> str:
    """The option of that name, or its variable where that gave it; "" where the command has none such."""
    context = click.get_current_context()
    for option in context.command.params:
        if option.name == name:
            by_variable = context.get_parameter_source(name) is ParameterSource.ENVIRONMENT
            return str(option.envvar) if by_variable else max(option.opts, key=len)
    return ""


def opened(judge: dict[str, Any]) -> Any:
    from localeval.judge import Judge

    return Judge.load(**judge)


def names(metrics: str | None) -> list[str] | None:
    from localeval.metrics.summary import choose_metrics

    names = [name.strip() for name in metrics.split(",") if name.strip()] if metrics is not None else None
    if names == []:
        raise InputError(f"{given_as('metrics')} names no metric; give one, or leave it out.")
    if names:
        choose_metrics(names)
    return names
