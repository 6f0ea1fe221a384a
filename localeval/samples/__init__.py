"""The data: `Sample`, one row, and `read_samples`, which reads samples from files, tables and Python objects.

    {"question": "Who won?", "answer": "Ann won.", "contexts": ["Ann won the race."]}

is `Sample(user_input="Who won?", response="Ann won.", retrieved_contexts=["Ann won the race."])`.
"""

from __future__ import annotations

from localeval.samples.dataset import Samples, Skipped, Source, read_samples
from localeval.samples.readers import FORMATS
from localeval.samples.sample import ALIASES, Sample, check_columns

__all__ = ["ALIASES", "FORMATS", "Sample", "Samples", "Skipped", "Source", "check_columns", "read_samples"]
