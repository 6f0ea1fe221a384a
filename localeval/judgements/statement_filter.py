"""Choose from what the judge wrote for each sentence the statements that the sentence makes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import chain

from pydantic import BaseModel

from localeval.claims.fidelity import changes_negation, changes_qualifier, exchanges, omits
from localeval.claims.terms import STOP, TERM, terms
from localeval.claims.tokens import tokens
from localeval.engine.interface import Reply
from localeval.text.display import one_line
from localeval.text.marks import has_content
from localeval.text.script import HAN

_SUBJECT = re.compile(r"^(?:The|An?) ([^\W\d_]+)\b(?! of\b)")  # "the height of" names what the question asks
# A name of two characters between others makes three pairs of them new, which overlap.
_PAIR = f"([{HAN}]{{2}})"
_THREE_PAIRS = re.compile(f"(?={_PAIR})(?=.{_PAIR})(?=..{_PAIR})")
# Share of the words of a sentence below which a statement leaves out most of them.
MIN_KEPT_SHARE = 0.35
# Words; a name that replaces a pronoun has fewer.
MIN_CLAUSE_WORDS = 8
# Words or Han characters of a sentence above which it is judged as a whole as well, and not compared with its
# statements: each clause is compared with each other one.
_MAX_COMPARED = 400


class StatementsReply(BaseModel):
    statements: list[str]


class StatementFilter:
    """Chooses from what a model wrote for each sentence of a text the statements that the sentence makes."""

    def __init__(self, sentences: Sequence[str], question: str = "", text: str = "") -> None:
        self._sentences = sentences
        sentence_terms = [terms(sentence) for sentence in sentences]
        counts = Counter(chain(*sentence_terms, terms(question)))
        in_one_text = frozenset(term for term, count in counts.items() if count == 1) - STOP
        # The terms by which sentences are told apart: no other sentence has them, nor the question.
        self._distinctive = [in_one_text & of_one for of_one in sentence_terms]
        self._known = terms(text) | counts.keys()

    def choose(self, i: int, reply: Reply[StatementsReply]) -> tuple[Sequence[str], str]:
        """Return the statements of sentence `i`, and why they are not as the model wrote them (or "").

        Where the list is wrong, or empty, the sentence itself is the statement. Where the list omits
        something, the sentence is judged as well. `SentenceStatements.cut` names the reasons.

        >>> answer = StatementFilter(["Tea sings.", "Rain may fall in May 1962."])
        >>> def choose(i, *statements):
        ...     return answer.choose(i, Reply(StatementsReply(statements=statements), "", {}))
        >>> choose(0, "Rain falls in May."), choose(0)
        ((['Tea sings.'], 'strays'), (['Tea sings.'], 'empty'))
        >>> choose(1, "Rain falls in May 1962.")
        (['Rain may fall in May 1962.'], 'qualifier')
        >>> choose(1, "Rain may fall in May.")
        (['Rain may fall in May.', 'Rain may fall in May 1962.'], 'details')
        """
        whole = one_line(self._sentences[i])
        written = [one_line(text) for text in reply.value.statements if has_content(text)]
        texts = [text for text in written if not self.strays(text, i)]
        wrong = self._why_wrong(whole, written, texts)
        if not texts:
            return [whole], reply.truncated or wrong
        if wrong:
            return [whole], wrong
        if len(tokens(whole)) > _MAX_COMPARED or omits(whole, texts):
            return [*texts, whole], reply.truncated or "details"
        return texts, reply.truncated

    def _why_wrong(self, whole: str, written: Sequence[str], texts: Sequence[str]) -> str:
        """Return why the list of a sentence can't be taken, or ""; `texts` are those that do not stray."""
        if any(map(self.invents, written)):
            return "invented"
        if not texts:
            return "strays" if written else "empty"
        if len(tokens(whole)) > _MAX_COMPARED:
            return ""
        if changes_negation(whole, texts):
            return "negation"
        if changes_qualifier(whole, texts):
            return "qualifier"
        return "exchange" if exchanges(whole, texts) else ""

    def strays(self, statement: str, i: int) -> bool:
        """Return whether a statement that was written for sentence `i` says what another sentence says.

        It has more of the words that only the other sentence has than of those that only its own has; and it
        leaves out most of its own, or adds a whole clause. A name that replaces a pronoun is neither.

        >>> StatementFilter(["The colours are:", "Red is warm.", "Blue is cold."]).strays("Red is warm.", 0)
        True
        >>> answer = StatementFilter(["The mill was built in 1820.", "It is made of oak."], "How old is it?")
        >>> answer.strays("The mill was made of oak.", 0), answer.strays("The mill is made of oak.", 1)
        (True, False)
        >>> StatementFilter(["Ann Lee came in May.", "She left."]).strays("Ann Lee left.", 1)
        False
        """
        statement_terms = terms(statement)
        shared = [len(words & statement_terms) for words in self._distinctive]
        own = shared.pop(i)
        other = max(shared, default=0)
        leaves_out = own < MIN_KEPT_SHARE * len(self._distinctive[i])
        return other > own and (leaves_out or other >= MIN_CLAUSE_WORDS)

    def invents(self, statement: str) -> bool:
        """Return whether a statement has a name, number or subject that neither text nor question has.

        Where these do not tell what "it" is, a small model takes a name of its worked examples.

        >>> answer = StatementFilter(["1889"], "When was it completed?")
        >>> answer.invents("The Orrin Bridge was completed in 1889."), answer.invents("The mill is of 1889.")
        (True, True)
        >>> answer.invents("It was completed in 1889."), answer.invents("The year of completion is 1889.")
        (False, False)
        """
        has_new_word = not terms(statement) <= self._known
        return has_new_word and (self._invents_name(statement) or self._invents_han_name(statement))

    def _invents_name(self, statement: str) -> bool:
        """Return whether a capitalized word, a number or the subject is not known."""
        names = [word for word in TERM.findall(statement) if word[0].isdigit() or word[0].isupper()]
        begins_with_name = bool(names) and names[0][0].isupper() and statement.startswith(names[0])
        if begins_with_name:
            del names[0]  # any sentence begins with a capital
        subjects = _SUBJECT.findall(statement)
        return not self._known.issuperset(map(str.lower, names + subjects))

    def _invents_han_name(self, statement: str) -> bool:
        """Return whether three adjacent pairs of Han characters are all new."""
        return any(self._known.isdisjoint(pairs) for pairs in _THREE_PAIRS.findall(statement))
