"""Judgements: questions put to a model about one sample. Each is asked once and its record stored whole.

A judgement of your own is a class in one file: its inputs, its record, the prompt that it uses, and `ask`.
"""

from localeval.judgements import (
    abstention,
    citations,
    consistency,
    criterion,
    needed_sentences,
    preference,
    questions,
    reading,
    reasons,
    semantic_similarity,
    similarity,
    standalone_question,
    statements,
    support,
    useful_contexts,
)
from localeval.judgements.base import (
    JUDGEMENTS,
    AnyJudgement,
    Choices,
    Failure,
    Inputs,
    Judgement,
    Models,
    Record,
    Records,
    register_judgement,
)
from localeval.judgements.making import ask, make_records, most_windows, with_needs
from localeval.prompts import PromptBySha256, PromptForm

__all__ = [
    "JUDGEMENTS",
    "AnyJudgement",
    "Choices",
    "Failure",
    "Inputs",
    "Judgement",
    "Models",
    "PromptBySha256",
    "PromptForm",
    "Record",
    "Records",
    "abstention",
    "ask",
    "citations",
    "consistency",
    "criterion",
    "make_records",
    "most_windows",
    "needed_sentences",
    "preference",
    "questions",
    "reading",
    "reasons",
    "register_judgement",
    "semantic_similarity",
    "similarity",
    "standalone_question",
    "statements",
    "support",
    "useful_contexts",
    "with_needs",
]
