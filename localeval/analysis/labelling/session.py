"""What a person labels in one sitting: every label is in the file before the next item is shown."""

from __future__ import annotations

from localeval.analysis.labelling.draw import LabelDraw
from localeval.analysis.labelling.page import PageOptions, row_order
from localeval.labels.file import Label
from localeval.labels.store import LabelStore


class LabelSession:
    """The labels of a draw and the file in which they are saved.

    labels   row id -> label, as in the file
    options  what is shown
    """

    def __init__(
        self, draw: LabelDraw, store: LabelStore, labels: dict[str, Label], options: PageOptions
    ) -> None:
        self.draw = draw
        self.labels = labels
        self.options = options
        self._store = store

    def row_ids(self) -> list[str]:
        """Return the ids of the rows, in the order in which they are shown."""
        return row_order(self.draw, self.options.two)

    def give(self, row_id: str, value: float | None, note: str = "", by: str | None = None) -> None:
        """Save a label: 1 right, 0 wrong, None can't tell. Raises InputError where it can't be saved."""
        who = self.options.by if by is None else by
        self.restore(row_id, self.draw.items[row_id].label(value, who, note))

    def restore(self, row_id: str, label: Label | None) -> None:
        """Save this label, or remove the one that is there for None. Raises InputError as `give`."""
        if label is None:
            self._store.remove(row_id)
            self.labels.pop(row_id, None)
        else:
            self._store.put(row_id, self.draw.row(label, row_id))
            self.labels[row_id] = label
