"""The measuring scripts: plans that still fit the prompts, and campaigns that are there."""

from __future__ import annotations

import gc
import importlib
import tracemalloc
from pathlib import Path
from types import ModuleType

import pytest

from localeval import evaluate
from localeval.engine.interface import EngineSettings
from localeval.text import claims, overlap
from tests.steady import SteadyEngine, steady_judge

ROOT = Path(__file__).parents[2]


def script(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    return importlib.import_module(name)


@pytest.mark.parametrize(
    "plan", sorted((ROOT / "scripts" / "experiments").glob("*.toml")), ids=lambda p: p.stem
)
def test_every_variant_finds_what_it_changes(plan: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    experiment = script("experiment", monkeypatch)
    rows = experiment.tomllib.loads(plan.read_text(encoding="utf-8"))["variant"]
    variants = [experiment.Variant(**row) for row in rows]
    assert len({v.name for v in variants}) == len(variants) > 1
    for variant in variants:
        EngineSettings(**variant.settings)
        with variant.asked():
            changed = variant.choices(plan.parent)
            for judgement, by_language in [*variant.edits.items(), *variant.prompts.items()]:
                for language in by_language:
                    plain = experiment.Options().prompt(judgement, language)
                    assert changed.prompt(judgement, language).sha256 != plain.sha256


def test_the_campaign_on_the_network_sees_what_goes_out(monkeypatch: pytest.MonkeyPatch) -> None:
    outward = script("prove_network", monkeypatch).outward
    caught = [
        "9 connect(4, {sa_family=AF_INET6, sin6_port=htons(9), sin6_flowinfo=htonl(0)}, 28) = 0",
        "9 sendmmsg(3, [{msg_hdr={msg_name={sa_family=AF_INET, sin_port=htons(53)}}}], 2, 0) = 2",
        '9 openat(AT_FDCWD, "/etc/resolv.conf", O_RDONLY|O_CLOEXEC) = 3',
    ]
    other = [
        '9 connect(6, {sa_family=AF_UNIX, sun_path="/var/run/nscd/socket"}, 110) = -1 ENOENT',
        '9 sendto(3, "x", 1, 0, NULL, 0) = 1',
    ]
    assert outward([*other, *caught, *other]) == caught


@pytest.mark.parametrize("name", sorted(p.stem for p in (ROOT / "scripts").glob("*.py")))
def test_every_script_finds_what_it_imports(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert script(name, monkeypatch).__doc__


def test_a_run_in_a_folder_holds_no_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor a text nor a score: only where its lines stand. Without a folder the records are held."""
    scale = script("scale", monkeypatch)
    samples = list(scale.samples(60))
    for module in (overlap, claims):
        monkeypatch.setattr(module, "split_sentences", scale.plain)  # pysbd's time is not what is looked at
    judge = steady_judge(SteadyEngine())
    evaluate(samples[:5], scale.METRICS, judge, tmp_path / "once")  # what is imported and remembered once

    def held(folder: Path | None) -> float:
        gc.collect()
        tracemalloc.start()
        result = evaluate(samples, scale.METRICS, judge, folder)
        gc.collect()
        bytes_held = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        return bytes_held / len(result.samples)

    monkeypatch.setattr("localeval.system.files.IN_MEMORY", 1)
    evaluate(samples, scale.METRICS, judge, tmp_path / "run")
    assert held(tmp_path / "run") < 1500  # 750 seen with 300 samples; in a long run 200
    assert held(None) > 10_000
