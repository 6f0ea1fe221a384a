"""Gates as JUnit XML, which CI systems show: one test case a gate, a missed one as a failure."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree

from localeval.runs.gates import Outcome


def as_junit(outcomes: Sequence[Outcome], suite: str) -> str:
    """The XML text; `suite` names what was evaluated."""
    missed = sum(outcome.missed for outcome in outcomes)
    counts = {"tests": str(len(outcomes)), "failures": str(missed), "errors": "0", "skipped": "0"}
    root = ElementTree.Element("testsuites", counts)
    cases = ElementTree.SubElement(root, "testsuite", {"name": _allowed(suite), **counts})
    for outcome in outcomes:
        name = _allowed(outcome.gate)
        case = ElementTree.SubElement(cases, "testcase", {"classname": "localeval.runs.gates", "name": name})
        if outcome.missed:
            ElementTree.SubElement(case, "failure", {"message": _allowed(str(outcome))})
        else:
            ElementTree.SubElement(case, "system-out").text = _allowed(outcome.found)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _allowed(text: str) -> str:
    """`text` without the characters that XML 1.0 has no place for, escaped or not."""
    return "".join(c for c in text if c in "\t\n" or (c >= " " and not _forbidden(ord(c))))


def _forbidden(code: int) -> bool:
    return 0x7F <= code <= 0x9F or 0xD800 <= code <= 0xDFFF or code in (0xFFFE, 0xFFFF)
