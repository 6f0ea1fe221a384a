"""Options shared by commands; those of judging are made from the fields of `Options` and `EngineSettings`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args, get_origin

import click

from localeval.engine.settings import EngineSettings
from localeval.metrics.summary import choose_metrics
from localeval.models.catalog import DEFAULT_CLASSIFIER, DEFAULT_EMBEDDER, DEFAULT_JUDGE
from localeval.options import ARITHMETIC, DEFAULTS, Options
from localeval.runs.folder import FILES, is_run
from localeval.system.files import is_same, stream_at


def option(*names: str, **settings: Any) -> click.Option:
    """Return an option with an environment variable: LOCALEVAL_N_CTX for `--n-ctx`. Errors name both."""
    variable = names[0].partition("/")[0].lstrip("-").replace("-", "_").upper()
    return click.Option(names, envvar=f"LOCALEVAL_{variable}", show_envvar=True, **settings)


def _of_field(settings: Any, name: str) -> dict[str, Any]:
    """Return type, bounds, default and help of an option, from the field `name` of `settings`."""
    field = settings.__pydantic_fields__[name]
    ends = (("min", "ge"), ("max", "le"))
    bounds = {key: getattr(item, end) for item in field.metadata for key, end in ends if hasattr(item, end)}
    kind: Any = field.annotation
    if get_origin(kind) is Literal:
        kind = click.Choice(get_args(kind))
    elif kind in (int, float):
        kind = (click.IntRange if kind is int else click.FloatRange)(**bounds)
    return {"type": kind, "default": field.default, "show_default": True, "help": field.description}


def _split_names(_: click.Context, __: click.Parameter, values: Sequence[str]) -> list[str] | None:
    names = [name.strip() for value in values for name in value.split(",") if name.strip()]
    if values:
        choose_metrics(names)  # raises for no name and for an unknown one
    return names or None


class FileKind(NamedTuple):
    """A kind of file that localeval writes, and how one that exists is known.

    name    of the kind, for messages
    begins  what the file begins with, in any case of letters and after white space
    holds   a text in its first `_LOOKED_AT` bytes
    """

    name: str
    begins: str
    holds: str


_LOOKED_AT = 4_000
PAGE = FileKind("page of a run", "<!doctype html>", "localeval</title>")
CARD_PAGE = FileKind("page of a card", "<!doctype html>", "<title>Judge card: ")
SCORES = FileKind("file of scores", "{", '"signature": {')
JUNIT = FileKind("file of gates", "<?xml", '<testsuite name="localeval"')
HEADS = FileKind("file of heads", "{", '"heads": [')


class OutputFile(click.Path):
    """A file to be written; refused where it is an input of the command, a file of a run, or another file.

    kind  what is written; an existing file of this kind, or an empty one, may be replaced
    own   name of a file of the given run that the command may replace, whatever is in it
    """

    def __init__(self, kind: FileKind, own: str = "") -> None:
        super().__init__(dir_okay=False, writable=True)
        self._kind = kind
        self._replaceable = own

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        path = Path(str(super().convert(value, param, ctx)))
        params = ctx.params if ctx else {}
        named = [p for value in params.values() for p in (value if isinstance(value, tuple) else (value,))]
        inputs = [p for p in named if isinstance(p, str | Path)]
        if any(is_same(path, p) for p in inputs):
            self.fail(f"{path}: this is the file that is read; choose another place.", param, ctx)
        real = Path(os.path.realpath(path))
        allowed = "run" in params and real == Path(os.path.realpath(params["run"] / self._replaceable))
        # In small letters, as not every file system tells them apart.
        if real.name.lower() in FILES and not allowed and self._is_of_run(real.parent, inputs):
            self.fail(f"{path}: this is, or would be, a file of a run; choose another place.", param, ctx)
        if not allowed and not self._may_be_replaced(real):
            message = f"{path}: this file is there, and it is no {self._kind.name}; choose another place."
            self.fail(message, param, ctx)
        return path

    def _may_be_replaced(self, path: Path) -> bool:
        """Return whether the file is not there, empty, of this kind, no regular file, or stdout."""
        try:
            if not path.is_file() or stream_at(path) is not None:
                return True
            with path.open("rb") as file:
                start = file.read(_LOOKED_AT).decode("utf-8", "replace")
        except OSError:  # writing it will tell
            return True
        is_kind = start.lstrip().lower().startswith(self._kind.begins) and self._kind.holds in start
        return not start or is_kind

    def _is_of_run(self, folder: Path, named: Sequence[str | Path]) -> bool:
        """Return whether the folder is a run's, or may be one's when the command ends."""
        with suppress(OSError):  # it can't be looked into
            return not folder.is_dir() or is_run(folder) or any(is_same(folder, p) for p in named)
        return True


_NAMES: dict[str, Any] = {
    "multiple": True,
    "callback": _split_names,
    "help": "Metric names, separated by commas; may be given several times.",
}
JSON = click.Option(["--json", "as_json"], is_flag=True, help="Print JSON.")

JUDGE = option(
    *("--judge", "model"),
    default=DEFAULT_JUDGE,
    show_default=True,
    help="A catalog name, or the path of a GGUF file of an instruct model; made for Qwen2.5 and Qwen3.",
)
EMBEDDER = option(
    "--embedder",
    default=DEFAULT_EMBEDDER,
    show_default=True,
    help="For answer_relevance: a catalog name, or the path of a folder; auto is bge-m3 if it is here, else "
    "a smaller one that is.",
)
CLASSIFIER = option(
    "--classifier",
    default=DEFAULT_CLASSIFIER,
    show_default=True,
    help="For HHEM: a catalog name, or the path of a folder.",
)
THREADS = option("--threads", "n_threads", **_of_field(EngineSettings, "n_threads"))
TIMEOUT = option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Time for the judgements of a sample; one that takes longer is failed, and judged again by another "
    "call. A process of its own judges then, and is ended where it hangs.",
)
_JUDGE_OPTIONS = (
    JUDGE,
    EMBEDDER,
    CLASSIFIER,
    THREADS,
    option("--n-ctx", **_of_field(EngineSettings, "n_ctx")),
    option("--gpu-layers", "n_gpu_layers", **_of_field(EngineSettings, "n_gpu_layers")),
    option(
        "--cache-prefix/--no-cache-prefix",
        "cache_prefix",
        default=True,
        show_default=True,
        help="Keep the computed states of the prompts in the user's cache folder, for the next run.",
    ),
)
_JUDGING_OPTIONS = [
    option(f"--{name.replace('_', '-')}", is_flag=name == "explain", **_of_field(Options, name))
    for name in vars(DEFAULTS)
    if name != "prompts"
]
# Of judging commands; see `split_options`.
JUDGING = [option("--metrics", "-m", **_NAMES), *_JUDGE_OPTIONS, *_JUDGING_OPTIONS, JSON]
RESCORING = [  # can be changed without judging again; the default is the value of the run, and no variable's
    click.Option(["--metrics", "-m"], **_NAMES),
    *(click.Option([f"--{name}"], **{**_of_field(Options, name), "default": None}) for name in ARITHMETIC),
]


def take_options(values: dict[str, Any], options: Iterable[click.Parameter]) -> dict[str, Any]:
    """Remove the values of these options from `values`, and return them."""
    return {str(param.name): values.pop(str(param.name)) for param in options}


def split_options(values: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the arguments of `Judge.load` and of `evaluate`, the latter checked before a model is loaded."""
    judge, options = take_options(values, _JUDGE_OPTIONS), take_options(values, _JUDGING_OPTIONS)
    Options.read(options)
    return judge, options
