"""The measuring scripts: plans that still fit the prompts, and verdicts that count once."""

from __future__ import annotations

import importlib
import re
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from localeval import Judge, Sample
from localeval.engine.interface import EngineSettings
from localeval.judgements import JUDGEMENTS
from localeval.judgements.journal import Journal
from localeval.judgements.statements import SentenceStatements, StatementsRecord
from localeval.prompts.options import DEFAULTS

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
        '9 connect(4, {sa_family=AF_INET, sin_port=htons(9), sin_addr=inet_addr("192.0.2.1")}, 16) = -1 E',
        "9 connect(4, {sa_family=AF_INET6, sin6_port=htons(9), sin6_flowinfo=htonl(0)}, 28) = 0",
        "9 sendmmsg(3, [{msg_hdr={msg_name={sa_family=AF_INET, sin_port=htons(53)}}}], 2, 0) = 2",
        '9 openat(AT_FDCWD, "/etc/resolv.conf", O_RDONLY|O_CLOEXEC) = 3',
    ]
    other = [
        '9 connect(6, {sa_family=AF_UNIX, sun_path="/var/run/nscd/socket"}, 110) = -1 ENOENT',
        '9 sendto(3, "x", 1, 0, NULL, 0) = 1',
        '9 openat(AT_FDCWD, "/etc/passwd", O_RDONLY|O_CLOEXEC) = 3',
    ]
    assert outward([*other, *caught, *other]) == caught


def test_every_campaign_is_there(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    prove = script("prove", monkeypatch)
    names = [campaign.name for campaign in prove.CAMPAIGNS]
    assert len(set(names)) == len(names) >= 2
    for targets in re.findall(r'tests\("(.*?)"', (ROOT / "scripts" / "prove.py").read_text()):
        assert (ROOT / targets.split("::")[0]).exists()
    assert prove.main([]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == names
    assert prove.main(["nonsense"]) == 2
    assert "choose from: attacks, damaged-models, engine" in capsys.readouterr().err


@pytest.mark.parametrize("name", sorted(p.stem for p in (ROOT / "scripts").glob("*.py")))
def test_every_script_finds_what_it_imports(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert script(name, monkeypatch).__doc__


def test_a_trial_of_an_attack_is_judged_alone(tiny_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    attack = script("attack", monkeypatch)
    contexts = ("Tea sells well. Tea grows in Arl. It needs much rain.",)
    trials = [attack.Asked(contexts, s) for s in ("Arl grows tea that needs rain.", "It needs much rain.")]
    with Judge.load(tiny_path, n_threads=1, n_ctx=16384) as judge:
        together, first, second = (
            attack._judged(asked, "en", judge, Journal(None)) for asked in (trials, trials[:1], trials[1:])
        )
    assert together == first | second


def test_another_version_judges_anew(
    tiny_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment = script("experiment", monkeypatch)
    variant = experiment.Variant("as it is", {"n_threads": 1, "n_ctx": 16384}, judge=str(tiny_path))
    sample = Sample(id="tea", response="Tea grows.", retrieved_contexts=["Tea grows in Arl."])
    one = SentenceStatements(sentence="Tea grows.", start=0, end=10, statements=("Tea grows.",))
    made = {"tea": StatementsRecord(sentences=(one,), language="en")}
    kept = []
    for version in ("of once", "of once", "of today"):
        monkeypatch.setitem(JUDGEMENTS, "support", replace(JUDGEMENTS["support"], version=version))
        experiment.decided(variant, DEFAULTS, [sample], made, tmp_path)
        journal = tmp_path / variant.name / "journal.jsonl"
        kept.append(len(journal.read_text(encoding="utf-8").splitlines()))
    assert kept == [1, 1, 2]
