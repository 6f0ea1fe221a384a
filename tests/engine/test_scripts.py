"""The measuring scripts: plans that still fit the prompts, and campaigns that are there."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from types import ModuleType

import pytest

from localeval.engine.interface import EngineSettings

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
    assert ", ".join(sorted(names)) in capsys.readouterr().err


@pytest.mark.parametrize("name", sorted(p.stem for p in (ROOT / "scripts").glob("*.py")))
def test_every_script_finds_what_it_imports(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert script(name, monkeypatch).__doc__
