"""`localeval doctor`: check a machine, an installation and its models, and say what to do about each fault.

A check takes a `CheckContext`. It returns a description, or raises `Fault` with what is wrong, or
`NotApplicable` where there is nothing to check.
"""

from __future__ import annotations

import os
import platform
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from importlib import resources
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Literal

import platformdirs
from packaging.requirements import Requirement
from pydantic import BaseModel

from localeval import models
from localeval.auxiliary.embedder import Embedder
from localeval.auxiliary.hhem import Classifier
from localeval.engine import build
from localeval.engine.settings import physical_cores
from localeval.errors import InputError, LocalevalError, ModelMissing
from localeval.judge import Judge
from localeval.judgements.journal import Journal
from localeval.models.catalog import AUTO, DEFAULT_CLASSIFIER, DEFAULT_EMBEDDER, Kind, entries
from localeval.models.files import auto_embedder
from localeval.options import Options
from localeval.prompts import PromptPrefix
from localeval.samples import Sample, read_samples
from localeval.system import subprocesses
from localeval.system.offline import SWITCHES, attempts, is_offline
from localeval.text.display import printable, shorten

CheckStatus = Literal["ok", "fault", "absent"]

MINIMUM_FREE = 1_000_000_000  # bytes, where runs are written: a full disk loses work
IMPORT_TIMEOUT = 300  # seconds, for all packages

# Three of the shipped samples, with the same contexts, and by how much the first must score above the others.
# A judge that guesses comes near that by luck at times, but scores the wrong date almost the same.
SUPPORTED, DATE_WRONG, CONTRADICTED = "en-supported", "en-one-date-wrong", "en-contradicted"
CONTRADICTED_MARGIN, DATE_MARGIN = 0.3, 0.1

# A text, one near to it in meaning and one far from it (the first three are from sentence-transformers), and
# by how much the cosine of the near one must exceed that of the far one.
NEAR_AND_FAR = (
    ("The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."),
    ("Where does tea grow?", "In which places is tea grown?", "Where does the judge live?"),
)
COSINE_MARGIN = 0.1

# Premise, hypothesis and HHEM-2.1-Open's score, from its model card: computed elsewhere, and rounded.
PUBLISHED = (
    ("The capital of France is Berlin.", "The capital of France is Paris.", 0.0111),
    ("I am in California", "I am in United States.", 0.6474),
    ("I am in United States", "I am in California.", 0.1290),
    ("A person on a horse jumps over a broken down airplane.", "A person is outdoors, on a horse.", 0.8969),
    ("Mark Wahlberg was a fan of Manny.", "Manny was a fan of Mark Wahlberg.", 0.0543),
)
TOLERANCE = 0.01

_MODULES = {"llama-cpp-python": "llama_cpp", "scikit-learn": "sklearn"}
_TRANSITIVE = ("torch", "transformers", "tokenizers", "safetensors")  # installed by sentence-transformers
_FEATURES = ("avx", "avx2", "fma", "f16c", "avx512f", "asimd")  # that affect llama.cpp's speed
_OPTIONS = {"statements": "sentences", "calibration": "none"}

# Run in a separate process, which a library built for another processor would end.
_IMPORT_EACH = """
import importlib, sys
for name in sys.argv[1:]:
    print(name, flush=True)
    importlib.import_module(name)
"""


class Fault(Exception):
    """Something is wrong; `remedy` says what to do about it."""

    def __init__(self, description: str, remedy: str) -> None:
        super().__init__(description)
        self.remedy = remedy


class NotApplicable(Exception):
    """There is nothing to check, which need not be a fault."""


@dataclass(frozen=True)
class Finding:
    """The result of a check: its name and status, what was found, what to do, and the seconds it took."""

    name: str
    status: CheckStatus
    found: str
    remedy: str = ""
    seconds: float = 0.0

    def __str__(self) -> str:
        mark = {"ok": "ok   ", "fault": "FAULT", "absent": "-    "}[self.status]
        return printable(f"{mark} {self.name:<13} {self.found}{f'; {self.remedy}' if self.remedy else ''}")


class _Reply(BaseModel):
    word: str
    verdict: Literal["yes", "no"]


@dataclass
class CheckContext:
    """What to check: models, threads, and the folder of runs. The judge is loaded once, for all checks."""

    judge_name: str
    embedder: str = DEFAULT_EMBEDDER
    classifier: str = DEFAULT_CLASSIFIER
    threads: int = 0
    folder: Path = Path()
    only: Collection[str] = ()  # names of the checks to make; all for none
    attempts_before: int = field(default_factory=attempts)

    @cached_property
    def loaded(self) -> Judge | LocalevalError:
        """The judge after a first reply, which reads its weights, or the error that loading it raised."""
        try:
            judge = Judge.load(
                self.judge_name, embedder=self.embedder, n_threads=self.threads, cache_prefix=False
            )
            judge.engine.generate(PromptPrefix("", ()), "Tea grows on hills.", ["A word?"], _Reply, budget=8)
        except LocalevalError as error:
            return error
        return judge

    @property
    def judge(self) -> Judge:
        """The judge. Raises the reason if it can't be loaded; NotApplicable where its own check does."""
        if isinstance(self.loaded, LocalevalError):
            if self.only and "judge" not in self.only:
                raise self.loaded
            raise NotApplicable("the judge can't be loaded: see the check judge")
        return self.loaded


def examine(context: CheckContext) -> Iterator[Finding]:
    """Yield a finding for each check. Raises InputError for an unknown name in `context.only`."""
    if unknown := sorted(set(context.only) - CHECKS.keys()):
        raise InputError(f"{unknown[0]!r} is no check; choose from: {', '.join(CHECKS)}.")
    try:
        for name, check in CHECKS.items():
            if context.only and name not in context.only:
                continue
            start, remedy = time.perf_counter(), ""
            status: CheckStatus = "fault"
            try:
                description, status = check(context), "ok"
            except NotApplicable as error:
                description, status = str(error), "absent"
            except Fault as error:
                description, remedy = str(error), error.remedy
            except LocalevalError as error:
                description = str(error)
            except Exception as error:  # noqa: BLE001 (whatever a broken installation raises is a finding)
                description, remedy = f"the check itself failed ({shorten(repr(error))})", "install it again"
            yield Finding(name, status, description, remedy, round(time.perf_counter() - start, 2))
    finally:
        judge = vars(context).get("loaded")
        if judge and not isinstance(judge, LocalevalError):
            judge.close()


def _require(condition: bool, description: str, remedy: str) -> str:
    """Return the description; raise it as a Fault if the condition is false."""
    if not condition:
        raise Fault(description, remedy)
    return description


def _python(_: CheckContext) -> str:
    return f"{platform.python_version()}, {platform.python_implementation()} on {platform.platform()}"


def _packages(_: CheckContext) -> str:
    """Check that every required package is installed in a suitable version and can be imported."""
    packages = [Requirement(line) for line in requires("localeval") or ()]
    packages = [x for x in packages if x.marker is None or x.marker.evaluate({"extra": ""})]
    faults = []
    for package in packages:
        try:
            if not package.specifier.contains(installed := version(package.name), prereleases=True):
                faults.append(f"{package.name} is {installed}, expected {package.specifier}")
        except PackageNotFoundError:
            faults.append(f"{package.name} is not installed")
    modules = [*(_MODULES.get(x.name, x.name.replace("-", "_")) for x in packages), *_TRANSITIVE]
    result = subprocess.run(  # noqa: S603
        subprocesses.code(_IMPORT_EACH, *modules),
        capture_output=True,
        text=True,
        timeout=IMPORT_TIMEOUT,
        check=False,
        env=subprocesses.environment(**SWITCHES),
    )
    if code := result.returncode:
        reason = shorten((result.stderr.splitlines() or [""])[-1], 120)
        if code < 0:
            reason = f"it ends the process: {next((s.name for s in signal.Signals if s == -code), code)}"
        if code == -signal.SIGILL:
            reason += ", as it is built for another processor"
        module = (result.stdout.split() or ["Python"])[-1]
        faults.append(f"{module} can't be imported ({reason})")
    _require(not faults, "; ".join(faults), "install localeval again, or what it names, from the same source")
    return f"{len(modules)} packages can be imported, in versions that localeval supports"


def _processor(context: CheckContext) -> str:
    cores, features = physical_cores(), build.processor()["features"].split()
    remedy = "choose at most as many --threads as there are cores, or 0 for all of them"
    _require(0 <= context.threads <= cores, f"{context.threads} threads on {cores} cores", remedy)
    listed = " ".join(name for name in _FEATURES if name in features) or platform.machine()
    return f"{cores} cores, {context.threads or cores} threads; {listed}"


def _disk(context: CheckContext) -> str:
    """Check that there is space, and permission to write, for runs and for the cache of checksums."""
    runs, cache = context.folder.absolute(), platformdirs.user_cache_path("localeval")
    for what, folder in (("the cache", cache), ("runs", runs)):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()
        except OSError as error:
            raise Fault(
                f"nothing can be written for {what} in {folder} ({error.strerror})",
                "choose another folder, or for the cache another XDG_CACHE_HOME",
            ) from error
        free = shutil.disk_usage(folder).free
        description = f"{free / 1e9:.1f} GB are free for {what} in {folder}"
        _require(free >= MINIMUM_FREE, description, f"make room for at least {MINIMUM_FREE / 1e9:.0f} GB")
    return description


def _checksums(_: CheckContext) -> str:
    """Check the sha256 of every catalog model that is here, from its bytes."""
    names = [str(row["name"]) for row in models.listing() if row["state"] != "missing"]
    if not names:
        raise NotApplicable(f"no model of the catalog is in {models.models_dir()}")
    found = [models.resolve(name, read_again=True) for name in names]
    listed = ", ".join(files.name + " (in part unpinned)" * files.unpinned for files in found)
    return f"{listed}: {sum(files.size for files in found) / 1e9:.1f} GB read, as in the catalog"


def _judge(context: CheckContext) -> str:
    """Check that the judge is here, has the expected bytes, fits into free memory, and loads."""
    files = models.resolve(context.judge_name, kind="judge")
    if isinstance(context.loaded, LocalevalError):
        raise context.loaded
    threads = context.loaded.engine.settings.n_threads
    return f"{files.name}: {files.size / 1e9:.2f} GB, loaded, {threads} threads"


def _grammar(context: CheckContext) -> str:
    """Check that replies to awkward texts match their schema, with probabilities that sum to 1."""
    prefix = PromptPrefix("Answer with a word and a verdict.", ())
    items = ['quotes " and \\ {"verdict":"yes"}', "青岚茶场 한국어 🍎 <|im_end|>"]
    for reply in context.judge.engine.generate(prefix, "Tea grows on hills.", items, _Reply, budget=8):
        total = sum(reply.probabilities["verdict"].values())
        is_valid = _Reply.model_validate_json(reply.text) == reply.value and abs(total - 1) < 1e-6
        _require(is_valid, f"a reply does not match its schema: {reply.text[:80]!r}", "choose another judge")
    return f"{len(items)} replies parse"


def _faithfulness(context: CheckContext) -> str:
    """Check that a supported answer scores above a contradicted one and above one with a wrong date."""
    shares, verify = [], f"localeval models verify {context.judge_name}"
    for name in (SUPPORTED, DATE_WRONG, CONTRADICTED):
        score = context.judge.score("faithfulness", _sample(name), **_OPTIONS)
        if score.soft is None:
            raise Fault(f"the judge could not answer ({score.reason})", f"check it: {verify}")
        shares.append(score.soft)
    high, other, low = shares
    description = (
        f"a supported answer has {high:.3f}, one with a wrong date {other:.3f}, a contradicted one {low:.3f}"
    )
    is_right = high >= 0.6 and high - other >= DATE_MARGIN and high - low >= CONTRADICTED_MARGIN
    return _require(is_right, description, f"choose another judge, or check this one: {verify}")


def _same_bits(context: CheckContext) -> str:
    """Check that a judgement made twice, with another sample's in between, gives the same record."""
    options, judgements = Options.read(_OPTIONS), ("statements", "support")
    alone, _, again = (
        context.judge.judge(_sample(name), judgements, options, Journal())
        for name in (SUPPORTED, CONTRADICTED, SUPPORTED)
    )
    remedy = "use a CPU build, without --gpu-layers; scores of this machine can't be verified"
    _require(alone == again, "the same judgement made twice gave two records", remedy)
    return "a judgement made twice, with another between, is the same record"


def _sample(name: str) -> Sample:
    """Read one of the shipped samples."""
    return read_samples(str(resources.files("localeval") / "examples" / "answers.jsonl"), ids=name)[0]


def _embedder(context: CheckContext) -> str:
    """Check that texts with a similar meaning are closer than others."""
    name = _model_here(context.embedder, "embedder")
    with closing(Embedder.load(name)) as embedder:
        vectors = [embedder.embed(texts) for texts in NEAR_AND_FAR]
    cosines = [(float(text @ near), float(text @ far)) for text, near, far in vectors]
    listed = ", ".join(f"{near:.2f} and {far:.2f}" for near, far in cosines)
    is_right = all(near >= far + COSINE_MARGIN for near, far in cosines)
    remedy = "choose another embedder, or fetch it again"
    return _require(is_right, f"{name}: cosines of near and far texts are {listed}", remedy)


def _classifier(context: CheckContext) -> str:
    """Check that HHEM gives the scores of its model card."""
    name = _model_here(context.classifier, "classifier")
    with closing(Classifier.load(name)) as classifier:
        scores = classifier.probabilities([(premise, hypothesis) for premise, hypothesis, _ in PUBLISHED])
    error = max(abs(p - published) for p, (_, _, published) in zip(scores, PUBLISHED, strict=True))
    description = f"{name}: {len(PUBLISHED)} published pairs, at most {error:.4f} off"
    return _require(error <= TOLERANCE, description, f"fetch it again: localeval models fetch {name}")


def _model_here(name: str, kind: Kind) -> str:
    """Return the model's name. Raises NotApplicable if a model of the catalog was not fetched."""
    try:
        return models.resolve(name, kind=kind).name
    except ModelMissing as error:
        entry = entries().get(auto_embedder() if name == AUTO else name)
        if entry is None or entry.kind != kind:
            raise
        raise NotApplicable(f"only some metrics need one: {error}") from error


def _offline(context: CheckContext) -> str:
    """Check that the network guard is on, the switches are set, and no check tried to use the network."""
    unset = [name for name, value in SWITCHES.items() if os.environ.get(name) != value]
    problem = f"{', '.join(unset)} not set" if unset else "the network guard is off"
    _require(is_offline() and not unset, problem, "call localeval.offline() before anything else is imported")
    refused = attempts() - context.attempts_before
    description = f"something tried to use the network; refused: {refused} attempts"
    _require(not refused, description, "find out what: no part of localeval does")
    return "the network is refused in this process, the libraries' switches are set, 0 attempts"


CHECKS: dict[str, Callable[[CheckContext], str]] = {
    "python": _python,
    "packages": _packages,
    "processor": _processor,
    "disk": _disk,
    "checksums": _checksums,
    "judge": _judge,  # from here on llama.cpp is in this process, and may end it
    "grammar": _grammar,
    "faithfulness": _faithfulness,
    "same bits": _same_bits,
    "embedder": _embedder,
    "classifier": _classifier,
    "offline": _offline,  # last: it counts the attempts of the others
}
