"""What a score was computed with, as typed fields: two runs with equal signatures give equal scores."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from pydantic import BaseModel, ConfigDict, model_validator

from localeval.engine.settings import EngineSettings
from localeval.fitted.curves import Curve, Curves
from localeval.fitted.heads import head_digests, heads_for
from localeval.fitted.reply_heads import reply_heads_for
from localeval.judgements import AnyJudgement, with_needs
from localeval.judgements.standalone_question import NAME as STANDALONE_QUESTION
from localeval.judgements.standalone_question import is_follow_up
from localeval.metrics import Metric
from localeval.metrics.summary import judgements_of_sample
from localeval.options import DEFAULTS, Options, use_of
from localeval.samples import Sample
from localeval.system.versions import DECIDING, digest, machine, own_version, package_versions
from localeval.text.display import printable, shorten

_MODELS = ("judge", "embedder", "classifier")
# Fields that differ between machines and change no score.
_ENVIRONMENT = {
    "localeval",
    "machine",
    "engine.n_threads",
    "engine.n_gpu_layers",
    "engine.mmap",
    "embedder.packages",
    "embedder.device",
    "embedder.batch_size",
    "embedder.threads",
    "classifier.packages",
    "classifier.device",
    "classifier.batch_size",
    "classifier.threads",
}


class Signature(BaseModel):
    """What the scores of a run depend on. `str()` is a short form like sacrebleu's, without default options.

    metrics, judgements, packages  name -> version
    prompts                        "judgement/language" -> sha256 of the prompt file
    judge, embedder, classifier    name, sha256 and more of each model that was needed; {} of the others
    engine, options                settings of the judge, with the threads in use; what the caller chose
    calibration                    language -> the curve that calibrated the probabilities of `support`
    heads                          language -> sha256 of the head that decided by reading
    reply_heads                    "prompt/language" -> sha256 of the head that read the state before a reply
    """

    model_config = ConfigDict(frozen=True)

    localeval: str
    metrics: dict[str, str]
    judgements: dict[str, str]
    prompts: dict[str, str]
    judge: dict[str, Any]
    embedder: dict[str, Any] = {}
    classifier: dict[str, Any] = {}
    engine: dict[str, Any]
    options: dict[str, Any]
    calibration: dict[str, Curve] = {}
    heads: dict[str, str] = {}
    reply_heads: dict[str, str] = {}
    packages: dict[str, str]
    machine: str

    @model_validator(mode="after")
    def _complete(self) -> Signature:
        """Check the entries that a reader of a stored signature uses."""
        lacking = self._lacking_entry()
        if lacking:
            raise ValueError(f"the signature is incomplete ({lacking!r})")
        return self

    def _lacking_entry(self) -> str:
        """Return the first entry that is missing or of another type, as "sha256"; "" without one."""
        for model in (self.judge, self.embedder, self.classifier):
            lacking = _lacking_entry_of_model(model) if model else ""
            if lacking:
                return lacking
        for name in ("n_ctx", "n_threads"):
            if self.judge and name not in self.engine:
                return name
        if "llama-cpp-python" not in self.packages:
            return "llama-cpp-python"
        if not isinstance(self.options.get("threshold", 0.5), int | float):
            return "threshold"
        if "support" in self.judgements and "support_by" not in self.options:
            return "support_by"
        return ""

    @property
    def threshold(self) -> float:
        """The probability from which a verdict counted as yes."""
        return float(self.options.get("threshold", 0.5))

    @property
    def raw(self) -> bool:
        """Whether a score depends on the judge's raw probabilities of support, as there is no calibration."""
        asks_judge = "support" in self.judgements and self.options["support_by"] in ("auto", "llm")
        return asks_judge and not self.calibration

    def _packages_of_metrics(self) -> list[str]:
        """Return the packages that only some metrics compute with."""
        return [name for name in self.packages if name not in DECIDING]

    def __str__(self) -> str:
        parts = [",".join(f"{name}.{version}" for name, version in self.metrics.items())]
        for name in _MODELS:
            model = getattr(self, name)
            if model:
                parts.append(f"{name}:{model['name']}@{model['sha256'][:8]}")
        if self.judge:
            parts.append(f"prompts:{digest(self.prompts)[:8]}")
        if self.calibration:
            curves = self.model_dump(mode="json", include={"calibration"})["calibration"]
            parts.append(f"calibration:{digest(curves)[:8]}")
        if self.heads:
            parts.append(f"head:{digest(self.heads)[:8]}")
        if self.reply_heads:
            parts.append(f"reply_head:{digest(self.reply_heads)[:8]}")
        chosen = [
            f"{name}={value}"
            for name, value in self.options.items()
            if value != getattr(DEFAULTS, name, None)
        ]
        if chosen:
            parts.append(",".join(chosen))
        if self.judge:
            parts += [
                f"ctx:{self.engine['n_ctx']}",
                f"threads:{self.engine['n_threads']}",
                f"llama:{self.packages['llama-cpp-python']}",
            ]
        parts += [f"{name}:{self.packages[name]}" for name in self._packages_of_metrics()]
        parts.append(f"localeval:{self.localeval}")
        return printable("|".join(parts))


def _lacking_entry_of_model(model: Mapping[str, Any]) -> str:
    if "name" not in model:
        return "name"
    sha256 = model.get("sha256")
    return "" if isinstance(sha256, str) and sha256.isascii() else "sha256"


def differences(a: Signature, b: Signature) -> tuple[list[str], list[str]]:
    """Return (fields that change scores, fields of the environment) that differ, each with both values.

    What only one run used (a metric, a prompt, an embedder) is not compared.
    """
    decisive: list[str] = []
    environment: list[str] = []
    fields_of_b = _fields(b)
    for field, value in _fields(a).items():
        if field not in fields_of_b or value == fields_of_b[field]:
            continue
        line = f"{field} ({_short(value)} and {_short(fields_of_b[field])})"
        if _is_environment(field):
            environment.append(line)
        else:
            decisive.append(line)
    return decisive, environment


def joined(signatures: Sequence[Signature]) -> Signature:
    """Return the signature of runs of the same metrics together: what one of them asked was asked."""
    prompts = {name: sha256 for one in signatures for name, sha256 in one.prompts.items()}
    judgements = {name: version for one in signatures for name, version in one.judgements.items()}
    return signatures[0].model_copy(update={"prompts": prompts, "judgements": judgements})


def decisive_fields(signature: Signature) -> dict[str, Any]:
    """Return the fields that change scores, as `differences` compares them: "judge.sha256" -> value."""
    return {field: value for field, value in _fields(signature).items() if not _is_environment(field)}


def _is_environment(field: str) -> bool:
    """Report whether a field may differ between machines and changes no score."""
    return field in _ENVIRONMENT or field.startswith("packages.")


def _short(value: Any) -> str:
    """Cut a value to 60 characters, and a sha256 to 8 as in a printed signature."""
    if re.fullmatch("[0-9a-f]{64}", str(value)):
        return str(value)[:8]
    return shorten(value, 60)


def _fields(signature: Signature) -> dict[str, Any]:
    """Flatten a signature to "judge.sha256" -> value, without the names of models, which have a sha256."""
    fields: dict[str, Any] = {}
    for name, value in signature.model_dump(mode="json").items():
        # A calibration or a head changes scores even if only one run has it.
        if not isinstance(value, dict) or name in ("calibration", "heads", "reply_heads"):
            fields[name] = value
            continue
        for key, item in value.items():
            field = f"{name}.{key}"
            if name not in _MODELS or key == "sha256" or field in _ENVIRONMENT:
                fields[field] = item
        if name == "embedder" and value:
            # The scale of answer_relevance's soft, which differs also where only one run has it.
            fields["embedder.unrelated"] = value.get("unrelated")
    return fields


def model_signature(judge: Mapping[str, Any], settings: EngineSettings) -> Signature:
    """Make a signature without metrics: the judge, its engine's settings, the packages and the machine."""
    return Signature(
        localeval=own_version(),
        metrics={},
        judgements={},
        prompts={},
        judge=dict(judge),
        engine=asdict(settings),
        options={},
        packages=package_versions(),
        machine=machine(),
    )


def build_signature(
    models: Signature, metrics: Sequence[Metric], options: Options, curves: Curves, samples: Sequence[Sample]
) -> Signature:
    """Make the signature of these metrics, with the models, packages and machine of `models`.

    samples  of the run: what writes the question of a conversation is named only where one of them is one

    Raises ValueError for a model without name or sha256: a finished run could not be read back.
    """
    judgements = judgements_of(metrics)
    if has_follow_up(samples, metrics, options):
        judgements += with_needs([STANDALONE_QUESTION])
    used = models_used(judgements, options)
    uses_judge = "judge" in used
    heads = heads_for(models.judge.get("sha256", ""), options)
    may_use_head = any(judgement.may_use_head(options) for judgement in judgements)
    is_calibrated = any(judgement.calibrated_by_language_of for judgement in judgements)
    return Signature(
        localeval=own_version(),
        metrics={metric.name: metric.version for metric in metrics},
        judgements={judgement.name: judgement.version for judgement in judgements},
        prompts=_prompt_digests(judgements, options),
        judge=models.judge if uses_judge else {},
        embedder=models.embedder if "embedder" in used else {},
        classifier=models.classifier if "classifier" in used else {},
        engine=models.engine if uses_judge else {},
        options={name: value for name, value in vars(options).items() if use_of(name).in_signature},
        calibration=dict(sorted(curves.items())) if is_calibrated else {},
        heads=head_digests(heads) if may_use_head else {},
        reply_heads=_reply_head_digests(models, judgements, options),
        packages=_packages(models, metrics),
        machine=models.machine,
    )


def _prompt_digests(judgements: Sequence[AnyJudgement], options: Options) -> dict[str, str]:
    """Return "judgement/language" -> sha256 of each prompt that a judgement may use."""
    return {
        f"{form.name}/{language}": options.prompt(form.name, language).sha256
        for judgement in judgements
        for form in judgement.prompts
        for language in form.texts
    }


def _reply_head_digests(
    models: Signature, judgements: Sequence[AnyJudgement], options: Options
) -> dict[str, str]:
    """Return "prompt/language" -> sha256 of each head for replies to the prompts of these judgements."""
    prompts = {form.name for judgement in judgements for form in judgement.prompts}
    heads = reply_heads_for(models.judge.get("sha256", ""), options)
    return {name: head.sha256 for name, head in sorted(heads.items()) if head.prompt in prompts}


def _packages(models: Signature, metrics: Sequence[Metric]) -> dict[str, str]:
    """Return the versions of what the judge runs on, as `models` has them, and of what the metrics need."""
    # A stored signature may have the packages of other metrics, too.
    of_judge = {name: number for name, number in models.packages.items() if name in DECIDING}
    of_metrics = [package for metric in metrics for package in metric.packages]
    return of_judge | package_versions(of_metrics)


def judgements_of(metrics: Sequence[Metric]) -> list[AnyJudgement]:
    """Return the judgements that the metrics depend on, each once."""
    return with_needs([name for metric in metrics for name in metric.judgements])


def models_used(judgements: Sequence[AnyJudgement], options: Options) -> set[str]:
    """Return the models that answer these judgements: "judge", "embedder", "classifier"."""
    return {judgement.answered_by(options) for judgement in judgements}


def has_follow_up(samples: Iterable[Sample], metrics: Sequence[Metric], options: Options) -> bool:
    """Return whether the judge writes the question of a sample anew before it is asked for these metrics."""
    if not needs_judge(metrics, options):
        return False
    return any(
        puts_to_judge(judgements_of_sample(metrics, options, sample), options)
        for sample in samples
        if is_follow_up(sample)
    )


def puts_to_judge(names: Sequence[str], options: Options) -> bool:
    """Return whether one of the judgements of these names, or one that they need, is put to the judge."""
    return "judge" in models_used(with_needs(names), options)


def needs_judge(metrics: Sequence[Metric], options: Options) -> bool:
    """Return whether a judgement of these metrics is put to the judge, so that it has to be loaded."""
    return "judge" in models_used(judgements_of(metrics), options)
