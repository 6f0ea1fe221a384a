"""Label in the terminal: an answer and Enter for each item. It needs no colours and no keys but these.

What the samples say stands indented and without control characters, so that nothing in it can pass for
localeval's own lines, or command the terminal.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator, Sequence

import click

from localeval.analysis.labelling.session import LabelSession
from localeval.analysis.labelling.texts import TextMark, question_asked, texts_of, verdict_of
from localeval.labels.file import Label
from localeval.report.text import number
from localeval.system.terminal import say
from localeval.text.display import digits, encodable, printable, printable_lines, shorten

VALUES: dict[str, float | None] = {"1": 1.0, "y": 1.0, "0": 0.0, "n": 0.0, "?": None, "u": None, "？": None}
HELP = (
    "1 or y right, 0 or n wrong, ? or u can't tell, b back, s skip, z undo, m NOTE, c contexts in full, "
    "q quit"
)
# Of all contexts together: longer ones are shown around what is marked, until `c` is typed.
MAX_CONTEXTS = 4_000
AROUND = 300  # characters of a long context before and after what is marked
_INDENT = "    "


def label_in_terminal(session: LabelSession) -> None:
    """Ask for every item that has no label; return when all have one, or the input ends.

    Raises InputError where a label can't be saved.
    """
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")
    _Terminal(session).run()


class _Terminal:
    """The dialogue: the item that is shown, and what can be undone."""

    def __init__(self, session: LabelSession) -> None:
        self._session = session
        self._row_ids = session.row_ids()
        self._place = 0
        # A note that was typed before the label of the item.
        self._note = ""
        # (place, the label that was there before)
        self._history: list[tuple[int, Label | None]] = []

    def run(self) -> None:
        self._place = self._next_open(0)
        say(HELP)
        is_new = True
        while self._place < len(self._row_ids):
            if is_new:
                self._show()
            line = self._ask()
            if line is None or line.lower() in ("q", "quit"):
                return
            is_new = self._obey(line)
        say("all are labelled")

    def _ask(self) -> str | None:
        """Return what is typed; None where the input ends."""
        click.echo("> ", nl=False)
        line = sys.stdin.readline()
        if not line:
            click.echo()
            return None
        return line.strip()

    def _obey(self, line: str) -> bool:
        """Do what is typed, and return whether another item, or the item anew, is to be shown."""
        word, _, rest = line.partition(" ")
        word = word.lower()
        if word in VALUES and not rest.strip():
            self._label(VALUES[word])
        elif word == "b":
            self._go(max(0, self._place - 1))
        elif word == "s":
            self._go(min(len(self._row_ids) - 1, self._place + 1))
        elif word == "z":
            return self._undo()
        elif word == "c":
            self._show(is_whole=True)
            return False
        elif word == "m":
            self._take_note(rest)
            return False
        else:
            click.echo(HELP)
            return False
        return True

    def _go(self, place: int) -> None:
        self._place = place
        self._note = ""

    def _label(self, value: float | None) -> None:
        row_id = self._row_ids[self._place]
        before = self._session.labels.get(row_id)
        note = self._note or (before.note if before else "")
        self._session.give(row_id, value, note)
        self._history.append((self._place, before))
        self._say_verdict(row_id)
        self._go(self._next_open(self._place + 1))

    def _undo(self) -> bool:
        if not self._history:
            click.echo("nothing to undo")
            return False
        place, before = self._history.pop()
        self._session.restore(self._row_ids[place], before)
        self._go(place)
        return True

    def _take_note(self, text: str) -> None:
        """Keep the note for the label to come; an item that has a label gets it at once."""
        row_id = self._row_ids[self._place]
        self._note = printable(encodable(text)).strip()
        before = self._session.labels.get(row_id)
        if before is not None:
            self._session.give(row_id, before.value, self._note, before.by)
            self._history.append((self._place, before))
        click.echo("noted" if self._note else "no note: type it after m, as in: m the year is another one")

    def _next_open(self, place: int) -> int:
        """Return the place of the next item without a label, from the beginning after the last one."""
        places = [*range(place, len(self._row_ids)), *range(min(place, len(self._row_ids)))]
        labels = self._session.labels
        return next((p for p in places if self._row_ids[p] not in labels), len(self._row_ids))

    def _show(self, is_whole: bool = False) -> None:
        row_id = self._row_ids[self._place]
        for line in _item_lines(self._session, row_id, self._place, is_whole=is_whole):
            click.echo(line)
        if self._session.options.show == "always":
            self._say_verdict(row_id)

    def _say_verdict(self, row_id: str) -> None:
        """Show the judge's verdict, where it may be shown."""
        if self._session.options.show == "never":
            return
        for line in _verdict_lines(self._session, row_id):
            click.echo(line)


def _item_lines(session: LabelSession, row_id: str, place: int, *, is_whole: bool) -> Iterator[str]:
    draw = session.draw
    item = draw.items[row_id]
    texts = texts_of(draw, item)
    yield ""
    yield "-" * 72
    done = sum(name in session.labels for name in draw.items)
    yield f"{place + 1} of {len(draw.items)} ({done} labelled): {shorten(item.result.sample.id, 60)}"
    yield from _field("Question", texts.question)
    yield from _field("Response", texts.response, texts.response_marks)
    if texts.reference is not None:
        yield from _field("Reference", texts.reference, texts.reference_marks)
    is_long = not is_whole and sum(map(len, texts.contexts)) > MAX_CONTEXTS
    for index, (text, marks) in enumerate(zip(texts.contexts, texts.context_marks, strict=True), 1):
        yield from _field(f"Context {index}", text, marks, around=AROUND if is_long else None)
    if not texts.contexts:
        yield from _field("Contexts", None)
    if texts.statement is not None:
        yield from _field("Statement", texts.statement)
    yield from _people_lines(session, row_id)
    asked = question_asked(draw, item, "en")
    yield ""
    yield printable(f"{asked.question} {asked.definition}".strip())
    own = session.labels.get(row_id)
    if own is not None:
        yield f"Labelled: {_word(own)}"


def _field(
    name: str, text: str | None, marks: Sequence[TextMark] = (), around: int | None = None
) -> Iterator[str]:
    """Yield a text under its name; `around` is how much of it is shown beside what is marked, if not all."""
    yield f"{name}:"
    if text is None or not text.strip():
        word = "missing" if text is None else "empty"
        yield f"{_INDENT}({word})"
        return
    shown = "".join(_pieces(text, marks, around))
    for line in printable_lines(shown).split("\n"):
        yield f"{_INDENT}{line}".rstrip()


def _pieces(text: str, marks: Sequence[TextMark], around: int | None) -> Iterator[str]:
    """Yield the text with >> and << around what is marked; what is left out is counted in its place."""
    position = 0
    for mark in marks:
        yield _shortened(text[position : mark.start], around, keeps_start=position > 0, keeps_end=True)
        yield f">>{text[mark.start : mark.end]}<<"
        position = mark.end
    yield _shortened(text[position:], around, keeps_start=True, keeps_end=False)


def _shortened(text: str, around: int | None, *, keeps_start: bool, keeps_end: bool) -> str:
    """Return the text, or `around` characters at the sides that are kept, and how many are left out.

    >>> _shortened("abcdefgh" * 20, 3, keeps_start=True, keeps_end=True)
    'abc [... 154 characters: c shows all ...] fgh'
    """
    kept = (around or 0) * (keeps_start + keeps_end)
    if around is None or len(text) <= kept:
        return text
    start = text[:around] if keeps_start else ""
    end = text[len(text) - around :] if keeps_end else ""
    return f"{start} [... {len(text) - kept:,} characters: c shows all ...] {end}"


def _verdict_lines(session: LabelSession, row_id: str) -> Iterator[str]:
    verdict = verdict_of(session.draw, session.draw.items[row_id])
    parts = [verdict.says] if verdict.says else []
    if verdict.value is not None:
        parts.append(
            f"{printable(session.draw.metric)} {number(verdict.value)} (soft {number(verdict.soft)})"
        )
    yield f"The judge: {', '.join(parts)}"
    for one in verdict.statements:
        word = "supported" if one.is_yes else "not supported"
        yield f"{_INDENT}{digits(one.probability or 0.0, one.threshold, 2)} {word}: {shorten(one.text)}"


def _people_lines(session: LabelSession, row_id: str) -> Iterator[str]:
    """Yield what each of two people said."""
    if session.options.two is None:
        return
    yield "Two people:"
    for person in session.options.two.people:
        label = person.labels.get(row_id)
        note = ""
        if label and label.note:
            note = f" ({shorten(label.note)})"
        word = _word(label) if label else "not labelled"
        yield f"{_INDENT}{shorten(person.name, 60)}: {word}{note}"


def _word(label: Label) -> str:
    if label.value is None:
        return "can't tell"
    return {1.0: "right", 0.0: "wrong"}.get(label.value, str(label.value))
