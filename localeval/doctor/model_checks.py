"""Checks of the models: that they are whole, load, and answer as they should."""

from __future__ import annotations

from contextlib import closing
from importlib import resources

from localeval import models
from localeval.auxiliary.embedder import Embedder
from localeval.auxiliary.hhem import Classifier
from localeval.candidates import describe, judges_of_catalog
from localeval.doctor.checking import CheckContext, Fault, FirstReply, NotApplicable, check, require
from localeval.engine import memory
from localeval.errors import LocalevalError, ModelMissing
from localeval.judgements.journal import Journal
from localeval.models.catalog import AUTO, Kind, entries
from localeval.models.files import auto_embedder
from localeval.models.found import find_models
from localeval.options import Options
from localeval.prompts import PromptPrefix
from localeval.samples import Sample, read_samples

# Three of the shipped samples, with the same contexts, and by how much the first must score above the others.
# A judge that guesses comes near that by luck at times, but scores the wrong date almost the same.
SUPPORTED = "en-supported"
DATE_WRONG = "en-one-date-wrong"
CONTRADICTED = "en-contradicted"
MIN_SUPPORTED = 0.6
CONTRADICTED_MARGIN = 0.3
DATE_MARGIN = 0.1
_OPTIONS = {"statements": "sentences", "calibration": "none"}

# A text, one near to it in meaning and one far from it (the first three are from sentence-transformers), and
# by how much the near one's cosine must exceed the far one's.
TEXT_TRIPLES = (
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


@check
def checksums(_: CheckContext) -> str:
    """Check the sha256 of every catalog model that is here, from its bytes."""
    names = [str(row["name"]) for row in models.listing() if row["state"] != "missing"]
    if not names:
        raise NotApplicable(f"no model of the catalog is in {models.models_dir()}")
    found = [models.resolve(name, read_again=True) for name in names]
    listed = [f"{files.name} (in part unpinned)" if files.unpinned else files.name for files in found]
    size = sum(files.size for files in found)
    return f"{', '.join(listed)}: {size / 1e9:.1f} GB read, as in the catalog"


@check
def best_judge(_: CheckContext) -> str:
    """Suggest the judge with the most parameters that fits into free memory, of the catalog and of others."""
    free = memory.available()
    judges = [*judges_of_catalog(), *(found for found in describe(find_models()) if found.kind == "judge")]
    fitting = [judge for judge in judges if memory.fits(judge.memory, free) and not judge.needed_n_ctx]
    room = "this machine" if free is None else f"{free / 1e9:.1f} GB of free memory"
    # Of equal ones the first: the catalog's come first, and some have a calibration.
    best = max(fitting, key=lambda judge: judge.parameters, default=None)
    larger = _larger_of_catalog(best.memory if best else 0, free)
    if best is None:
        raise NotApplicable(f"no judge here fits into {room} ({len(judges)} were found){larger}")
    return (
        f"the largest judge here that fits into {room} is {best.name}, of {len(judges)} "
        f"({best.parameters / 1e9:.2g} billion parameters, about {best.memory / 1e9:.1f} GB){larger}"
    )


def _larger_of_catalog(need: int, free: int | None) -> str:
    """Name the catalog's judge that needs most, of those that fit and need more than `need`; "" for none."""
    fetched = {row["name"] for row in models.listing() if row["state"] != "missing"}
    larger = [
        entry
        for entry in entries().values()
        if entry.kind == "judge"
        and entry.name not in fetched
        and need < entry.ram_gb * 1e9
        and memory.fits(int(entry.ram_gb * 1e9), free)
    ]
    if not larger:
        return ""
    entry = max(larger, key=lambda entry: entry.ram_gb)
    return (
        f"; {entry.name} would fit, too ({entry.ram_gb} GB, licence {entry.licence}): "
        f"localeval models fetch {entry.name}"
    )


# From here on llama.cpp is in this process, and may end it.
@check
def judge(context: CheckContext) -> str:
    """Check that the judge is here, has the expected bytes, fits into free memory, and loads."""
    files = models.resolve(context.judge_name, kind="judge")
    if isinstance(context.loaded, LocalevalError):
        raise context.loaded
    threads = context.loaded.engine.settings.n_threads
    return f"{files.name}: {files.size / 1e9:.2f} GB, loaded, {threads} threads"


@check
def grammar(context: CheckContext) -> str:
    """Check that replies to awkward texts match their schema, with probabilities that sum to 1."""
    prefix = PromptPrefix("Answer with a word and a verdict.", ())
    items = ['quotes " and \\ {"verdict":"yes"}', "青岚茶场 한국어 🍎 <|im_end|>"]
    replies = context.judge.engine.generate(prefix, "Tea grows on hills.", items, FirstReply, budget=8)
    for reply in replies:
        total = sum(reply.probabilities["verdict"].values())
        is_valid = FirstReply.model_validate_json(reply.text) == reply.value and abs(total - 1) < 1e-6
        require(is_valid, f"a reply does not match its schema: {reply.text[:80]!r}", "choose another judge")
    return f"{len(items)} replies parse"


@check
def faithfulness(context: CheckContext) -> str:
    """Check that a supported answer scores above a contradicted one and above one with a wrong date."""
    supported = _soft_faithfulness(context, SUPPORTED)
    date_wrong = _soft_faithfulness(context, DATE_WRONG)
    contradicted = _soft_faithfulness(context, CONTRADICTED)
    is_right = (
        supported >= MIN_SUPPORTED
        and supported - date_wrong >= DATE_MARGIN
        and supported - contradicted >= CONTRADICTED_MARGIN
    )
    description = (
        f"a supported answer has {supported:.3f}, one with a wrong date {date_wrong:.3f}, "
        f"a contradicted one {contradicted:.3f}"
    )
    remedy = f"choose another judge, or check this one: localeval models verify {context.judge_name}"
    return require(is_right, description, remedy)


def _soft_faithfulness(context: CheckContext, sample_id: str) -> float:
    score = context.judge.score("faithfulness", _sample(sample_id), **_OPTIONS)
    if score.soft is None:
        raise Fault(
            f"the judge could not answer ({score.reason})",
            f"check it: localeval models verify {context.judge_name}",
        )
    return score.soft


@check
def same_bits(context: CheckContext) -> str:
    """Check that a judgement made twice, with another sample's in between, gives the same record."""
    options = Options.read(_OPTIONS)
    alone, _, again = (
        context.judge.judge(_sample(name), ("statements", "support"), options, Journal())
        for name in (SUPPORTED, CONTRADICTED, SUPPORTED)
    )
    remedy = "use a CPU build, without --gpu-layers; scores of this machine can't be verified"
    require(alone == again, "the same judgement made twice gave two records", remedy)
    return "a judgement made twice, with another between, is the same record"


def _sample(sample_id: str) -> Sample:
    """Read one of the shipped samples."""
    return read_samples(str(resources.files("localeval") / "examples" / "answers.jsonl"), ids=sample_id)[0]


@check
def embedder(context: CheckContext) -> str:
    """Check that texts with a similar meaning are closer than others."""
    name = _model_here(context.embedder, "embedder")
    with closing(Embedder.load(name)) as loaded:
        vectors = [loaded.embed(texts) for texts in TEXT_TRIPLES]
    cosines = [(float(text @ near), float(text @ far)) for text, near, far in vectors]
    listed = ", ".join(f"{near:.2f} and {far:.2f}" for near, far in cosines)
    is_right = all(near >= far + COSINE_MARGIN for near, far in cosines)
    remedy = "choose another embedder, or fetch it again"
    return require(is_right, f"{name}: cosines of near and far texts are {listed}", remedy)


@check
def classifier(context: CheckContext) -> str:
    """Check that HHEM gives the scores of its model card."""
    name = _model_here(context.classifier, "classifier")
    with closing(Classifier.load(name)) as loaded:
        scores = loaded.probabilities([(premise, hypothesis) for premise, hypothesis, _ in PUBLISHED])
    published_scores = [score for _, _, score in PUBLISHED]
    error = max(abs(score - published) for score, published in zip(scores, published_scores, strict=True))
    description = f"{name}: {len(PUBLISHED)} published pairs, at most {error:.4f} off"
    return require(error <= TOLERANCE, description, f"fetch it again: localeval models fetch {name}")


def _model_here(name: str, kind: Kind) -> str:
    """Return the model's name. Raises NotApplicable if a model of the catalog was not fetched."""
    try:
        return models.resolve(name, kind=kind).name
    except ModelMissing as error:
        entry = entries().get(auto_embedder() if name == AUTO else name)
        if entry is None or entry.kind != kind:
            raise
        raise NotApplicable(f"only some metrics need one: {error}") from error
