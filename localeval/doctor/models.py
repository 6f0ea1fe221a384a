"""Checks of the model files, and of the models beside the judge."""

from __future__ import annotations

from localeval import models
from localeval.doctor.asked import Absent, Asked, Fault
from localeval.errors import ModelBroken, ModelMissing
from localeval.models import catalog
from localeval.models.catalog import Kind

NEAR_AND_FAR = (
    ("The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."),
    ("Where does tea grow?", "In which places is tea grown?", "Where does the judge live?"),
    ("How tall is the tower?", "What height does the tower have?", "The soup was cold and salty."),
)
"""A text, one that says much the same, one that does not. The first three are sentence-transformers' own."""

MARGIN = 0.1
"""By how much the cosine of the near text must be above that of the far one."""

PUBLISHED = (
    ("The capital of France is Berlin.", "The capital of France is Paris.", 0.0111),
    ("I am in California", "I am in United States.", 0.6474),
    ("I am in United States", "I am in California.", 0.1290),
    (
        "A person on a horse jumps over a broken down airplane.",
        "A person is outdoors, on a horse.",
        0.8969,
    ),
    (
        "A boy is jumping on skateboard in the middle of a red bridge.",
        "The boy skates down the sidewalk on a red bridge",
        0.1846,
    ),
    (
        "A man with blond-hair, and a brown shirt drinking out of a public water fountain.",
        "A blond man wearing a brown shirt is reading a book.",
        0.0050,
    ),
    ("Mark Wahlberg was a fan of Manny.", "Manny was a fan of Mark Wahlberg.", 0.0543),
)
"""Premise, hypothesis and HHEM-2.1-Open's score, from its model card."""

TOLERANCE = 0.01
"""Of a published score: they were computed elsewhere, and rounded."""


def checksums(_: Asked) -> str:
    """Every byte of every catalog model that is here is read again."""
    here = [row["name"] for row in models.listing() if row["state"] != "missing"]
    if not here:
        raise Absent(f"no model of the catalog is in {models.models_dir()}")
    wrong, size = [], 0
    for name in map(str, here):
        try:
            size += models.verify(name).size
        except ModelBroken as error:
            wrong.append(str(error))
    if wrong:
        raise Fault(" ".join(wrong), "")
    return f"{', '.join(map(str, here))}: {size / 1e9:.1f} GB read, as in the catalog"


def embedder(asked: Asked) -> str:
    """Texts that say the same are closer than texts that do not."""
    from localeval.engine.embedder import Embedder

    name = _here(asked.embedder, "embedder")
    opened = Embedder.load(name)
    try:
        cosines = [
            tuple(float(rows[0] @ rows[i]) for i in (1, 2)) for rows in map(opened.embed, NEAR_AND_FAR)
        ]
    finally:
        opened.close()
    found = ", ".join(f"{near:.2f} and {far:.2f}" for near, far in cosines)
    if any(near < far + MARGIN for near, far in cosines):
        raise Fault(
            f"{name}: cosines of near and far texts are {found}", "choose another embedder, or fetch it again"
        )
    return f"{name}: cosines of near and far texts are {found}"


def classifier(asked: Asked) -> str:
    """HHEM gives the scores of its model card."""
    from localeval.engine.hhem import Classifier

    name = _here(asked.classifier, "classifier")
    opened = Classifier.load(name)
    try:
        given = opened.probabilities([(premise, hypothesis) for premise, hypothesis, _ in PUBLISHED])
    finally:
        opened.close()
    off = max(abs(p - published) for p, (_, _, published) in zip(given, PUBLISHED, strict=True))
    found = f"{name}: {len(PUBLISHED)} published pairs, at most {off:.4f} off"
    if not off <= TOLERANCE:  # NaN too
        raise Fault(found, f"fetch it again: localeval models fetch {name}")
    return found


def _here(asked: str, kind: Kind) -> str:
    """What is asked for if it is here, else another of that kind that is. Raises Absent or ModelBroken."""
    rows = [row.name for row in catalog.rows().values() if row.kind == kind]
    for name in (asked, *rows):
        try:
            models.resolve(name, kind=kind)
        except ModelMissing:
            if name not in rows:
                raise
        else:
            return name
    raise Absent(f"{asked} is not here; only some metrics need it: localeval models fetch {asked}")
