"""Heads for judges that are fakes."""

from localeval.fitted.files import FittedFor, file_text
from localeval.fitted.heads import FORM, Head, LinearMap, LogitMap, SoftMinimum


def head(
    language: str = "en",
    bias: float = 1.0,
    sha256: str = "0" * 64,
    unknown: float = 0,
    long_answers: int = 0,
    width: int = 1,
    calibration: LogitMap | None = None,
) -> Head:
    """One that gives every sentence the same logit, less what unknown numbers take."""
    return Head(
        judge=FittedFor(name="fake", sha256=sha256),
        language=language,
        form=FORM,
        layer=0,
        word=LinearMap(states=(1.0,) * width, bias=bias),
        sentence=SoftMinimum(),
        overlap=(0, 0, unknown, 0, 0),
        calibration=calibration or LogitMap(),
        answer=SoftMinimum(sharpness=1000.0),
        long_answers=long_answers,
    )


HEADS = file_text([head("en"), head("zh")])  # the text of a file of them, for `head=`
