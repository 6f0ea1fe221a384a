"""What a prompt file holds, and what a replaced one has to share with the built-in one."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    StrictBool,
    ValidationError,
    create_model,
)

from localeval.errors import PromptError
from localeval.system.validation import describe
from localeval.text.display import shorten

PLACE = re.compile(r"\{(\w+)\}")

# What a leaf of an example holds where it is no text.
FORMS: dict[str, Any] = {
    "statements": list[str],
    "verdict": Literal["yes", "no"],
    "sufficient": Literal["yes", "no"],
}
_OPTIONAL = {"closest"}  # of a verdict: a prompt may show these sentences again, or not


def _check_texts(given: Any) -> Any:
    if isinstance(given, str) or (isinstance(given, list) and all(isinstance(one, str) for one in given)):
        return given
    raise ValueError("it should be a text or a list of texts")


_Texts = Annotated[Any, AfterValidator(_check_texts)]


class PromptFile(BaseModel):
    """A prompt file: `system`, `branch` and `leaves` are templates with {names}, filled by code.

    leaves       a leaf's name -> its template
    words        texts that code puts into leaves
    examples     worked ones, rendered by the same templates as the real thing
    branch_once  the leaves of an example go on the conversation that its first one opened, and the branch is
                 not shown again
    """

    model_config = ConfigDict(frozen=True)

    version: Annotated[str, BeforeValidator(str)]
    system: Annotated[str, AfterValidator(lambda text: text.strip())]
    branch: Annotated[str, AfterValidator(lambda text: text.lstrip("\n"))]
    leaves: dict[str, Annotated[str, AfterValidator(lambda text: text.rstrip("\n"))]]
    words: dict[str, str] = {}
    examples: list[dict[str, Any]] = []
    branch_once: StrictBool = False


class _Example(BaseModel, extra="allow"):
    """A worked example: texts for the branch, or contexts one by one, and its leaves."""

    __pydantic_extra__: dict[str, _Texts]
    leaves: list[dict[str, Any]]


def check_replacement(prompt: PromptFile, built_in: PromptFile, where: str, path: str) -> None:
    """Raise PromptError unless `prompt` has what the built-in one (a file at `path`) has, in the same form.

    So no slip in a file is met first in the middle of a run.
    """
    wanted = {"branch": built_in.branch} | {f"leaves.{name}": text for name, text in built_in.leaves.items()}
    given = {"branch": prompt.branch} | {f"leaves.{name}": text for name, text in prompt.leaves.items()}
    for name, template in wanted.items():
        if name not in given:
            raise PromptError(f"{where}: {name} is missing; see {path}.")
        places, found = {*PLACE.findall(template)}, {*PLACE.findall(given[name])}
        more = _OPTIONAL if name == "leaves.verdict" else set()
        if not places - _OPTIONAL <= found <= places | more:
            listed = ", ".join(f"{{{place}}}" for place in sorted(places))
            raise PromptError(f"{where}: {name} must hold just these places: {listed}; see {path}.")
    if missing := [word for word in built_in.words if word not in prompt.words]:
        raise PromptError(f"{where}: words lacks {', '.join(missing)}; see {path}.")

    shown = [leaf for example in built_in.examples for leaf in example["leaves"]]
    named = {leaf["leaf"] for leaf in shown if "leaf" in leaf}
    usual = next(name for name in built_in.leaves if name not in named)  # what a leaf is unless it says so
    forms = {}
    for kind in (usual, *named):
        like = next(leaf for leaf in shown if leaf.get("leaf", usual) == kind)
        read = {*PLACE.findall(prompt.leaves[kind])} | ({*like} - _OPTIONAL - {"leaf"})
        fields: dict[str, Any] = {name: (FORMS.get(name, str), ...) for name in sorted(read)}
        forms[kind] = create_model("Leaf", **fields)
    texts: dict[str, Any] = dict.fromkeys(PLACE.findall(prompt.branch), (_Texts, ...))
    form = create_model("Example", __base__=_Example, **texts)
    at = where
    try:
        for number, example in enumerate(prompt.examples, 1):
            at = f"{where}: example {number}"
            form.model_validate(example)
            for place, leaf in enumerate(example["leaves"], 1):
                at = f"{where}: example {number}, leaf {place}"
                kind = leaf.get("leaf", usual)
                if kind not in [*forms]:
                    raise PromptError(
                        f"{at}: leaf is {shorten(repr(kind), 60)}; choose one of: {', '.join(forms)}."
                    )
                forms[kind].model_validate(leaf)
    except ValidationError as error:
        raise PromptError(f"{at}: {describe(error)}; see {path}.") from error
