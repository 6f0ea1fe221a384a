"""What a prompt file must have, and what a replaced one has to share with the built-in one.

Each check raises PromptError, so that no slip in a file is met first in the middle of a run.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from localeval.errors import PromptError
from localeval.text.display import said

if TYPE_CHECKING:
    from localeval.prompts import Prompt

PLACE = re.compile(r"\{(\w+)\}")

_OPTIONAL = {"closest"}  # of a verdict: a prompt may show these sentences again, or not
_DECISION = {"yes", "no"}

Leaf = Mapping[str, Any]


def check_types(data: Mapping[str, Any], where: str) -> None:
    """Every part of a parsed file is of its type."""
    if missing := [k for k in ("version", "system", "branch", "leaves") if k not in data]:
        raise PromptError(
            f"{where}: the prompt lacks {', '.join(missing)}; copy a built-in one and change it."
        )
    tables = {"leaves": data["leaves"], "words": data.get("words", {})}
    for name, table in tables.items():
        if not isinstance(table, dict):
            raise _wrong(where, name, table, f"write a table of texts, headed by [{name}]")
    texts = {"system": data["system"], "branch": data["branch"]}
    texts |= {f"{name}.{part}": text for name, table in tables.items() for part, text in table.items()}
    for name, text in texts.items():
        if not isinstance(text, str):
            raise _wrong(where, name, text, "write a text")
    if not isinstance(once := data.get("branch_once", False), bool):
        raise _wrong(where, "branch_once", once, "write true or false")
    if not _all_are(dict, examples := data.get("examples", [])):
        raise _wrong(where, "examples", examples, "write a table for each, headed by [[examples]]")


def check_replaced(prompt: Prompt, model: Prompt, where: str, own: str) -> None:
    """The prompt has what the built-in one (`model`, whose path is `own`) has, in the same form."""
    _check_templates(prompt, model, where, own)
    usual, shown = _shown(model)
    for number, example in enumerate(prompt.examples, 1):
        at = f"{where}: example {number}"
        _check_branch(prompt, example, at)
        for place, leaf in enumerate(example["leaves"], 1):
            _check_leaf(prompt, {"leaf": usual, **leaf}, shown, f"{at}, leaf {place}")


def _shown(model: Prompt) -> tuple[str, dict[str, list[Leaf]]]:
    """(what a leaf of an example is, unless it says so; the leaves of all examples by what they are)."""
    leaves = [leaf for example in model.examples for leaf in example["leaves"]]
    named = {leaf["leaf"] for leaf in leaves if "leaf" in leaf}
    usual = next(name for name in model.leaves if name not in named)
    return usual, {
        kind: [one for one in leaves if one.get("leaf", usual) == kind] for kind in (usual, *named)
    }


def _check_templates(prompt: Prompt, model: Prompt, where: str, own: str) -> None:
    """Every template of the built-in prompt is there, and asks for the same texts."""
    if lacking := [name for name in model.leaves if name not in prompt.leaves]:
        raise PromptError(f"{where}: leaves.{lacking[0]} is missing; see {own}.")
    pairs = {"branch": (prompt.branch, model.branch)}
    pairs |= {f"leaves.{name}": (prompt.leaves[name], leaf) for name, leaf in model.leaves.items()}
    for name, (given, needed) in pairs.items():
        wanted, found = set(PLACE.findall(needed)), set(PLACE.findall(given))
        if not wanted - _OPTIONAL <= found <= wanted | (_OPTIONAL if name == "leaves.verdict" else set()):
            places = ", ".join(f"{{{p}}}" for p in sorted(wanted))
            raise PromptError(f"{where}: {name} must hold just these places: {places}; see {own}.")
    if missing := [word for word in model.words if word not in prompt.words]:
        raise PromptError(f"{where}: words lacks {', '.join(missing)}; see {own}.")


def _check_branch(prompt: Prompt, example: Mapping[str, Any], at: str) -> None:
    """The example has leaves, and texts for the branch: each one text, or the contexts one by one."""
    _check_there([*PLACE.findall(prompt.branch), "leaves"], example, at)
    for name, given in example.items():
        if name == "leaves" and not _all_are(dict, given):
            raise _wrong(at, name, given, "write a list of tables")
        if name != "leaves" and not isinstance(given, str) and not _all_are(str, given):
            raise _wrong(at, name, given, "write a text or a list of texts")


def _check_leaf(prompt: Prompt, leaf: Leaf, shown: Mapping[str, Sequence[Leaf]], at: str) -> None:
    """The leaf has what its template and its reply read, each in the form that those in `shown` have."""
    if leaf["leaf"] not in [*shown]:
        raise _wrong(at, "leaf", leaf["leaf"], f"choose one of: {', '.join(shown)}")
    alike = shown[leaf["leaf"]]
    asked = {*PLACE.findall(prompt.leaves[leaf["leaf"]])}
    read = sorted(asked | {*alike[0]} - _OPTIONAL)
    _check_there(read, leaf, at)
    for name in read:
        _check_form(name, leaf[name], [one[name] for one in alike if name in one], at)


def _check_form(name: str, given: object, others: Sequence[Any], at: str) -> None:
    """It is a list of texts where all others are lists, yes or no where they are, and else a text."""
    lists = [isinstance(other, list) for other in others]
    if lists and all(lists):
        if not _all_are(str, given):
            raise _wrong(at, name, given, "write a list of texts")
    elif not isinstance(given, str):
        raise _wrong(at, name, given, "write a text")
    elif others and {*others} <= _DECISION and given not in _DECISION:
        raise _wrong(at, name, given, "write yes or no")


def _check_there(names: Sequence[str], table: Mapping[str, Any], at: str) -> None:
    if missing := [name for name in names if name not in table]:
        raise PromptError(f"{at}: {missing[0]} is missing; give it as the built-in prompt does.")


def _all_are(kind: type, given: object) -> bool:
    return isinstance(given, list) and all(isinstance(one, kind) for one in given)


def _wrong(at: str, name: str, given: object, remedy: str) -> PromptError:
    return PromptError(f"{at}: {name} is {said(repr(given), 60)}; {remedy}.")
