"""Heads for judges that are fakes."""

from localeval.fitted.files import FittedFor, file_text
from localeval.fitted.heads import FORM, Head, LinearMap, LogitMap, SoftMinimum
from localeval.fitted.reply_heads import ReplyHead


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


def reply_head(outcomes: dict[str, LinearMap], prompt: str = "abstention", item: str = "gives") -> ReplyHead:
    """One for the first layer of a fake."""
    return ReplyHead(
        judge=FittedFor(name="fake", sha256="0" * 64),
        language="en",
        prompt=prompt,
        prompt_sha256="",
        item=item,
        layer=1,
        outcomes=outcomes,
    )
