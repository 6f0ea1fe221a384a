"""Options that commands share; those of judging come from the fields of `Options` and `EngineSettings`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import click

from localeval.engine.interface import EngineSettings
from localeval.metrics.summary import choose_metrics
from localeval.models.catalog import DEFAULT_CLASSIFIER, DEFAULT_EMBEDDER, DEFAULT_JUDGE
from localeval.prompts.options import ARITHMETIC, DEFAULTS, Options
from localeval.runs.folder import FILES, is_run
from localeval.system.files import is_same


def option(*names: str, **how: Any) -> click.Option:
    """Make an option with a variable: `--n-ctx` is LOCALEVAL_N_CTX. Click names both in an error."""
    variable = names[0].partition("/")[0].lstrip("-").replace("-", "_").upper()
    return click.Option(names, envvar=f"LOCALEVAL_{variable}", show_envvar=True, **how)


def _of_field(settings: Any, name: str) -> dict[str, Any]:
    """Take type, bounds, default and help of an option from the field of that name."""
    field = settings.__pydantic_fields__[name]
    ends = (("min", "ge"), ("max", "le"))
    bounds = {end: getattr(one, own) for one in field.metadata for end, own in ends if hasattr(one, own)}
    kind: Any = field.annotation
    if get_origin(kind) is Literal:
        kind = click.Choice(get_args(kind))
    elif kind in (int, float):
        kind = (click.IntRange if kind is int else click.FloatRange)(**bounds)
    return {"type": kind, "default": field.default, "show_default": True, "help": field.description}


def _names(_: click.Context, __: click.Parameter, given: Sequence[str]) -> list[str] | None:
    names = [name.strip() for part in given for name in part.split(",") if name.strip()]
    if given:
        choose_metrics(names)  # raises for none, or an unknown one
    return names or None


class _Output(click.Path):
    """What is to be written, by a name that is not empty."""

    what: str

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        if not str(value):
            self.fail(f"its name is empty; name a {self.what}.", param, ctx)
        return Path(str(super().convert(value, param, ctx)))


class OutputFolder(_Output):
    """A folder to be written."""

    what = "folder"


class OutputFile(_Output):
    """A file to be written: refused before anything is computed where it can't be, or would replace data.

    own  the name of a file that the command may replace in the run that it is given
    """

    what = "file"

    def __init__(self, own: str = "") -> None:
        super().__init__(dir_okay=False, writable=True)
        self._own = own

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        path = super().convert(value, param, ctx)
        given = ctx.params if ctx else {}
        try:
            real = path.resolve()
            moved = real.is_file() or not real.exists()  # into its place; a pipe is written to
            able = not moved or (real.parent.is_dir() and os.access(real.parent, os.W_OK))
        except (OSError, RuntimeError):  # RuntimeError: a link to itself
            able = False
        if not able:
            self.fail(f"{path}: no file can be made there; choose another place.", param, ctx)
        read = (one for some in given.values() for one in (some if isinstance(some, tuple) else (some,)))
        if any(is_same(path, one) for one in read if isinstance(one, str | Path)):
            self.fail(f"{path}: this is the file that is read; choose another place.", param, ctx)
        allowed = "run" in given and real == (given["run"] / self._own).resolve()
        if real.name in FILES and is_run(real.parent) and not allowed:
            self.fail(f"{path}: this is a file of a run, which has to stay.", param, ctx)
        return path


METRICS = option(
    *("--metrics", "-m"),
    multiple=True,
    callback=_names,
    help="Metric names, with commas between; may be given several times.",
)
JSON = click.Option(["--json", "as_json"], is_flag=True, help="Print JSON.")

JUDGE = option(
    *("--judge", "model"),
    default=DEFAULT_JUDGE,
    show_default=True,
    help="A catalog name, or a path to a GGUF file.",
)
EMBEDDER = option(
    "--embedder",
    default=DEFAULT_EMBEDDER,
    show_default=True,
    help="For answer_relevance: a catalog name, or the path of a folder; auto is bge-m3 where it is here, "
    "else a smaller one that is.",
)
CLASSIFIER = option(
    "--classifier",
    default=DEFAULT_CLASSIFIER,
    show_default=True,
    help="For HHEM: a catalog name, or the path of a folder.",
)
THREADS = option("--threads", "n_threads", **_of_field(EngineSettings, "n_threads"))
_OF_JUDGE = (
    JUDGE,
    EMBEDDER,
    CLASSIFIER,
    THREADS,
    option("--n-ctx", **_of_field(EngineSettings, "n_ctx")),
    option("--gpu-layers", "n_gpu_layers", **_of_field(EngineSettings, "n_gpu_layers")),
    option(
        "--cache-prefix/--no-cache-prefix",
        "--keep-trunks/--no-keep-trunks",  # its name in 0.1
        "cache_prefix",
        default=True,
        show_default=True,
        help="Keep what is computed of the prompts in the user's cache folder, for the next run.",
    ),
)
_OF_JUDGING = [
    option(f"--{name.replace('_', '-')}", is_flag=name == "explain", **_of_field(Options, name))
    for name in vars(DEFAULTS)
    if name != "prompts"
]
JUDGING = [METRICS, *_OF_JUDGE, *_OF_JUDGING, JSON]  # of every command that judges: see `split_options`
RESCORING = [  # what can be changed without judging again; what is not given is as in the run
    click.Option([f"--{name}"], **{**_of_field(Options, name), "default": None}) for name in ARITHMETIC
]


def take_options(given: dict[str, Any], options: Iterable[click.Parameter]) -> dict[str, Any]:
    """Take the values of these options out of `given`."""
    return {str(one.name): given.pop(str(one.name)) for one in options}


def split_options(given: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return (what `Judge.load` takes, what `evaluate` takes), the latter checked before a model loads."""
    judge, options = take_options(given, _OF_JUDGE), take_options(given, _OF_JUDGING)
    Options.read(options)
    return judge, options
