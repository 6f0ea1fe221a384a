"""Find statements that have the parties of their sentence in each other's part, or another's value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile

from localeval.claims.fidelity.clauses import Clause, content_keys, find_clauses, number_keys
from localeval.claims.tokens import Token, tokens
from localeval.claims.word_roles import words

# Tokens above which the order of a clause's parts is not compared: that takes the square of the time.
_MAX_COMPARED = 200
# Han characters of a party's name, at least: any single one stands in many words.
_MIN_HAN_NAME = 2
# What may stand before the name with which a clause begins.
_BEFORE_NAME = frozenset(("and", "but", "the", "while", "whereas"))
# Words that join the items of a list, and that pair two lists.
_JOINS_ITEMS = frozenset(("and", "和", "与", "及"))
_PAIRS_LISTS = ("respectively", "分别", "分別")


def exchanges(sentence: str, statements: Sequence[str]) -> bool:
    """Return whether a statement has the parties of the sentence in each other's part, or another's value.

    >>> exchanges("Bob paid Ann 500 euros.", ["Ann paid Bob 500 euros."])
    True
    >>> exchanges("A has 50 wings and B has 70.", ["A has 70 wings.", "B has 50 wings."])
    True
    >>> exchanges("The mill was sold by Bob to Ann in 1962.", ["In 1962, Bob sold the mill to Ann."])
    False
    >>> exchanges("王明付给李红五百元。", ["李红付给王明五百元。"])
    True
    >>> exchanges("1962年王明到上海。", ["王明1962年到上海。"])
    False
    """
    clauses = find_clauses(sentence)
    for statement in map(tokens, statements):
        if _takes_value(clauses, statement) or _takes_part(clauses, statement):
            return True
        if any(_swaps(clause.tokens, statement) for clause in clauses):
            return True
    return _mixes_lists(tokens(sentence), statements)


def _takes_value(clauses: Sequence[Clause], statement: Sequence[Token]) -> bool:
    """Return whether a statement has the number of one clause with the words of another.

    It has a number and no other word that only the first clause has, and words but no number that only the
    second has: "The dose is 10 mg for adults" of "5 mg for adults and 10 mg for children".
    """
    stated = content_keys(statement)
    numbers = number_keys(statement)
    with_numbers = [clause for clause in clauses if clause.own & number_keys(clause.tokens)]
    taken_from = [clause for clause in with_numbers if _has_only_number(clause, stated, numbers)]
    given_to = [clause for clause in with_numbers if _has_only_words(clause, stated, numbers)]
    return any(clause is not another for clause in taken_from for another in given_to)


def _has_only_number(clause: Clause, stated: frozenset[str], numbers: frozenset[str]) -> bool:
    """Return whether a statement has an own number of a clause, and none of its other own words."""
    own_numbers = clause.own & number_keys(clause.tokens)
    other_words = clause.own - own_numbers
    return bool(own_numbers & numbers) and bool(other_words) and not other_words & stated


def _has_only_words(clause: Clause, stated: frozenset[str], numbers: frozenset[str]) -> bool:
    """Return whether a statement has an own word of a clause, and none of its own numbers."""
    own_numbers = clause.own & number_keys(clause.tokens)
    return not own_numbers & numbers and bool((clause.own - own_numbers) & stated)


def _takes_part(clauses: Sequence[Clause], statement: Sequence[Token]) -> bool:
    """Return whether a statement is about the name that begins one clause, and has a value of another's.

    "Rome is the capital of France" of "Paris is the capital of France and Rome of Italy".
    """
    stated = content_keys(statement)
    headed = [headed for headed in map(_headed, clauses) if headed]
    for one in headed:
        if not one.head <= stated or one.values & stated:
            continue
        for other in headed:
            parallel = not one.is_han or one.content & other.content
            if parallel and not other.head & stated and other.values & stated:
                return True
    return False


@dataclass(frozen=True)
class _Headed:
    """A clause that begins with a name: the name's keys, what only this clause says of it, and all content.

    In Chinese no capital tells what a name is: two clauses of one form begin with one ("张涛生于上海，刘芳
    生于北京").
    """

    head: frozenset[str]
    values: frozenset[str]
    content: frozenset[str]
    is_han: bool


def _headed(clause: Clause) -> _Headed | None:
    """Return the parts of a clause that begins with a name and says something of its own, or None."""
    after_article = [token for token in clause.tokens if token.word not in _BEFORE_NAME]
    if not after_article:
        return None
    is_han = after_article[0].is_han
    if is_han:
        content = [token for token in after_article if token.is_content]
        head = clause.own.intersection(token.key for token in content[:_MIN_HAN_NAME])
        values = clause.own - head
    else:
        names = takewhile(lambda token: token.is_name, after_article)
        head = frozenset(token.key for token in names)
        values = clause.own_values - head
    return _Headed(head, values, clause.content, is_han) if head and values else None


@dataclass(frozen=True)
class _Block:
    """Tokens that stand together in a statement and in a clause: at `start` there."""

    start: int
    tokens: tuple[Token, ...]

    @property
    def is_party(self) -> bool:
        """Whether the block has a name or a number; in Chinese, whether it is long enough to be a name."""
        if any(token.is_name or token.is_number for token in self.tokens):
            return True
        return sum(token.is_han for token in self.tokens) >= _MIN_HAN_NAME


def _swaps(clause: Sequence[Token], statement: Sequence[Token]) -> bool:
    """Return whether two parties of a clause have changed places around what stands between them."""
    if len(clause) > _MAX_COMPARED or len(statement) > _MAX_COMPARED:
        return False
    if not _stated_in(content_keys(clause), statement):
        return False  # other words may say the same from the other side: "sold" and "bought"
    is_passive = _has_agent(clause)
    is_turned = is_passive != _has_agent(statement)
    if is_turned:
        passive, active = (clause, statement) if is_passive else (statement, clause)
        if _keeps_order_of_passive(passive, active):
            return True
    if _is_in_order(clause, statement) or _is_in_order(statement, clause):
        return False
    if _exchanges_markers(clause, statement):
        return True
    return not is_turned and _swaps_around_middle(clause, _blocks(clause, statement))


def _swaps_around_middle(clause: Sequence[Token], blocks: Sequence[_Block]) -> bool:
    """Return whether a party before a block stands behind it in the clause, and one behind it before."""
    for i, middle in enumerate(blocks):
        before = [block for block in blocks[:i] if block.is_party and block.start > middle.start]
        after = [block for block in blocks[i + 1 :] if block.is_party and block.start < middle.start]
        # "在北京出生的王明" and "王明出生在北京" say the same.
        is_relative = any("的" in _between(clause, middle.start, block.start) for block in before)
        if before and after and not is_relative:
            return True
    return False


def _has_agent(part: Sequence[Token]) -> bool:
    """Return whether a part says "by" whom something is done."""
    return any(token.word == "by" for token in part)


def _is_in_order(part: Sequence[Token], whole: Sequence[Token]) -> bool:
    """Return whether `whole` has all content of `part` in the same order."""
    rest = iter([token.key for token in whole if token.is_content])
    return all(token.key in rest for token in part if token.is_content)


def _keeps_order_of_passive(passive: Sequence[Token], active: Sequence[Token]) -> bool:
    """Return whether both have the same name, verb and name in one order, so that who did it has changed.

    "Bob was paid by Ann" says that Ann paid Bob.
    """
    agents = [after.key for by, after in pairwise(passive) if by.word == "by" and after.is_name]
    order = [token.key for token in active if token.is_content]
    in_passive = [token.key for token in passive if token.is_content]
    names = {token.key for token in active if token.is_name}
    for agent in agents:
        if agent not in order:
            continue
        before = order[: order.index(agent)]
        before_passive = in_passive[: in_passive.index(agent)]
        subject = next((i for i, key in enumerate(before) if key in names), len(before))
        has_verb = len(before) > subject + 1
        if has_verb and before[subject:] == before_passive[-len(before) + subject :]:
            return True
    return False


def _stated_in(known: frozenset[str], statement: Sequence[Token]) -> bool:
    """Return whether all content of a statement, apart from names, is known from a clause."""
    return all(token.key in known for token in statement if token.is_content and not token.is_name)


def _between(clause: Sequence[Token], start: int, end: int) -> list[str]:
    return [token.word for token in clause[start:end]]


def _blocks(clause: Sequence[Token], statement: Sequence[Token]) -> list[_Block]:
    """Cut a statement into the longest blocks that a clause has, too, each token of the clause used once."""
    places: dict[str, list[int]] = {}
    for i, token in enumerate(clause):
        if token.is_content:
            places.setdefault(token.key, []).append(i)
    used: set[int] = set()
    blocks = []
    position = 0
    while position < len(statement):
        rest = statement[position:]
        runs = [_common_run(clause, start, rest, used) for start in places.get(rest[0].key, ())]
        # The longest one; of equals the first.
        longest = max(runs, key=len, default=range(0))
        used.update(longest)
        if longest:
            blocks.append(_Block(longest.start, tuple(clause[i] for i in longest)))
        position += max(1, len(longest))
    return blocks


def _common_run(clause: Sequence[Token], start: int, statement: Sequence[Token], used: set[int]) -> range:
    """Return the places of a clause from `start` on that the statement begins with, too.

    A run ends before a token that is used, or has no content, and where a name begins or ends.
    """
    end = start
    for stated in statement:
        if end == len(clause) or end in used:
            break
        token = clause[end]
        if token.key != stated.key or not token.is_content:
            break
        if end > start and token.is_name != clause[end - 1].is_name:
            break
        end += 1
    return range(start, end)


def _exchanges_markers(clause: Sequence[Token], statement: Sequence[Token]) -> bool:
    """Return whether two names or numbers have exchanged their prepositions: "from Bonn to Rome"."""
    before = _marked(clause)
    after = _marked(statement)
    both = sorted(before.keys() & after.keys())
    changed = [key for key in both if before[key] != after[key]]
    pairs = Counter((before[key], after[key]) for key in changed)
    return any((new, old) in pairs for old, new in pairs)


def _marked(part: Sequence[Token]) -> dict[str, str]:
    """Map each name and number that stands once behind a preposition to that preposition."""
    markers = words().markers
    marked: dict[str, str] = {}
    for token, following in pairwise(part):
        if token.word in markers and (following.is_name or following.is_number):
            marked[following.key] = token.word if following.key not in marked else ""
    return {key: marker for key, marker in marked.items() if marker}


def _mixes_lists(sentence: Sequence[Token], statements: Sequence[str]) -> bool:
    """Return whether statements pair two lists of a sentence otherwise.

    "A and B have 5 and 7, respectively" does not say that A has 7.
    """
    all_words = "".join(token.word for token in sentence)
    if not any(word in all_words for word in _PAIRS_LISTS):
        return False
    first = next((i for i, token in enumerate(sentence) if token.is_number), 0)
    values = [token.key for token in sentence[first:] if token.is_number]
    parties = _listed(sentence[:first])
    if len(parties) != len(values) or len(set(values)) != len(values):
        return False
    return any(_has_value_of_other(content_keys(tokens(text)), parties, values) for text in statements)


def _has_value_of_other(
    stated: frozenset[str], parties: Sequence[frozenset[str]], values: Sequence[str]
) -> bool:
    """Return whether a statement names one of the parties, and has the value of another one."""
    named = [party for party in parties if party <= stated]
    if len(named) != 1:
        return False
    pairs = zip(parties, values, strict=True)
    return any(value in stated and not party <= stated for party, value in pairs)


def _listed(part: Sequence[Token]) -> list[frozenset[str]]:
    """Return the beginning of each item of a list: a word, or two Han characters."""
    items: list[list[Token]] = []
    for token in part:
        if token.word in _JOINS_ITEMS:
            items.append([])
            continue
        if token.after_mark or not items:
            items.append([])
        if token.is_content:
            items[-1].append(token)
    beginnings = [item[: _MIN_HAN_NAME if item[0].is_han else 1] for item in items if item]
    return [frozenset(token.key for token in beginning) for beginning in beginnings]
