"""Tell whether statements say what the sentence says from which they were written.

Words are compared by their stems, Chinese by its characters, so that a statement may be worded in another
way: with a name for a pronoun, "can't" for "not", "might" for "may", 7 for "seven". What can't be seen by
words alone is not found: a verb for its opposite, an adjective that was left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise, takewhile

from localeval.claims.sources import source_terms, unsupported_numbers
from localeval.claims.word_roles import Token, stem, tokens, words

# Share of a clause's content above which, if no statement has it, the clause is missing; and the least
# content. A word weighs as much as two Han characters.
_MISSING_SHARE = 0.6
_WORD_WEIGHT = 2
_LEAST_MISSING = 2
# Tokens above which the order of a clause's parts is not compared: that takes the square of the time.
_MAX_COMPARED = 200
# Han characters of a party's name, at least: any single one stands in many words.
_HAN_NAME = 2
# What may stand before the name with which a clause begins.
_BEFORE_NAME = frozenset(("and", "but", "the", "while", "whereas"))


@dataclass(frozen=True)
class _Clause:
    """The tokens of one clause of a sentence, the keys of its content, and those that no other clause has."""

    tokens: tuple[Token, ...]
    content: frozenset[str]
    own: frozenset[str]

    @property
    def own_values(self) -> frozenset[str]:
        """The numbers and names that no other clause has."""
        values = (token.key for token in self.tokens if token.is_number or token.is_name)
        return self.own.intersection(values)


def omits(sentence: str, statements: Sequence[str]) -> bool:
    """Return whether a number, a name or a clause of the sentence is in no statement.

    A clause is in none if more than three fifths of its content are in none. Words that lead in ("based on
    the passages", "therefore") are no content, nor is the number of a passage.

    >>> omits("The mill was built in 1820 and Bob jailed its owner.", ["The mill was built in 1820."])
    True
    >>> omits("According to passage 2, it appears that Ann left.", ["Ann left."])
    False
    >>> omits("王明是总经理，曾因诈骗入狱。", ["王明是总经理。"]), omits("此外，桥长七米。", ["桥长7米。"])
    (True, False)
    """
    if unsupported_numbers(sentence, source_terms(tuple(statements))):
        return True
    of_sentence = tokens(sentence)
    stated = frozenset(token.key for statement in statements for token in tokens(statement))
    # A run of Han characters may be cut in another way: 二百 of 二百五十.
    text = " ".join(statements)
    for i, token in enumerate(of_sentence):
        if token.key in stated or token.word in text:
            continue
        if token.is_number and not token.shown[0].isdigit():
            return True
        if token.is_name and _is_surely_name(of_sentence, i):
            return True
    return any(_is_missing(clause.tokens, stated) for clause in _clauses(sentence))


def _is_surely_name(of_sentence: Sequence[Token], i: int) -> bool:
    """Return whether a word with a capital is a name. The first word of a sentence has one anyway."""
    token = of_sentence[i]
    if not token.initial or token.shown[1:].isupper():
        return True
    return i + 1 < len(of_sentence) and of_sentence[i + 1].is_name


def _is_missing(clause: Sequence[Token], stated: Collection[str]) -> bool:
    content = [token for token in clause if token.is_content]
    missing = [token for token in content if token.key not in stated]
    weight = sum(map(_weight, missing))
    return weight >= _LEAST_MISSING and weight > _MISSING_SHARE * sum(map(_weight, content))


def _weight(token: Token) -> int:
    return 1 if token.is_han else _WORD_WEIGHT


def changes_negation(sentence: str, statements: Sequence[str]) -> bool:
    """Return whether a statement lost a negation of the sentence, or has one that the sentence has not.

    >>> changes_negation("Kelvane is not approved in Japan.", ["Kelvane is approved in Japan."])
    True
    >>> changes_negation("The trams do not run on Sunday.", ["The trams can't run on Sunday."])
    False
    >>> changes_negation("A opened, but B did not.", ["A opened.", "B did not open."])
    False
    >>> changes_negation("该药不能用于孕妇。", ["该药能用于孕妇。"])
    True
    >>> changes_negation("桥未建成。", ["桥没有建成。"])
    False
    """
    clauses = _clauses(sentence)
    return any(_loses_negation(clauses, s) or _adds_negation(clauses, s) for s in map(tokens, statements))


def _loses_negation(clauses: Sequence[_Clause], statement: Sequence[Token]) -> bool:
    """Return whether a statement says what the sentence negates.

    A statement of several clauses may have one negation of the sentence and lack another one: so each of its
    clauses without negation is looked at, too, and must not have all of what a clause negates.
    """
    scopes = [(clause, scope) for clause in clauses if (scope := _negated(clause.tokens))]
    if not any(token.negates for token in statement):
        return _affirms(clauses, scopes, statement)
    affirmed = [part for part in _parts(statement) if not any(token.negates for token in part)]
    return len(scopes) > 1 and any(
        own_scope <= _content(part)
        for clause, scope in scopes
        if (own_scope := _own_scope(clause, scope))
        for part in affirmed
    )


def _affirms(
    clauses: Sequence[_Clause], scopes: Sequence[tuple[_Clause, frozenset[str]]], statement: Sequence[Token]
) -> bool:
    """Return whether a statement without any negation says what a clause negates."""
    stated = _content(statement)
    unprefixed = frozenset(key for token in statement for key in _without_prefix(token))
    own_stated = frozenset(key for clause in clauses for key in clause.own) & stated
    affirmed = [clause for clause in clauses if not _negated(clause.tokens)]
    for clause, scope in scopes:
        if scope & unprefixed:
            continue
        own_scope = _own_scope(clause, scope)
        said = own_scope & stated
        from_others = own_stated - clause.own
        if said and (said == own_scope or (2 * len(said) >= len(own_scope) and not from_others)):
            return True
        if scope & stated and _fits(stated, [clause]) and not _fits(stated, affirmed):
            return True
        # "approved in Korea", of "approved in Japan, and not approved in Korea"
        has_all = bool(clause.own) and scope | clause.own <= stated
        if has_all and not any(other.own and other.own <= stated for other in affirmed):
            return True
    return False


def _own_scope(clause: _Clause, scope: frozenset[str]) -> frozenset[str]:
    """Return what a clause negates and what stands nowhere else in the sentence."""
    return (scope & clause.own) - (clause.content - scope)


def _adds_negation(clauses: Sequence[_Clause], statement: Sequence[Token]) -> bool:
    """Return whether a statement negates what the sentence does not."""
    scope = _negated(statement, grammar_only=True)
    if not scope:
        return False
    of_sentence = [token for clause in clauses for token in clause.tokens]
    if any(scope.intersection(_without_prefix(token)) for token in of_sentence):
        return False  # "invalid" for "not valid"
    # "Only members may enter" says that others may not; so do "unless", "fewer than" and "except".
    limits = ("qualifier:only", "qualifier:exception", "qualifier:condition", "qualifier:at most")
    if any(token.negates or not token.labels.isdisjoint(limits) for token in of_sentence):
        negated = [clause for clause in clauses if any(token.negates for token in clause.tokens)]
        stated = _content(statement)
        affirmed = [clause for clause in clauses if clause not in negated]
        from_negated = any(clause.content <= stated for clause in negated) or _fits(stated, negated)
        return bool(negated) and _fits(stated, affirmed) and not from_negated
    return True


def _negated(clause: Sequence[Token], grammar_only: bool = False) -> frozenset[str]:
    """Return the content that a clause negates: behind its first negation, or before one that ends it.

    "No, ..." answers. It negates the question before it, if there is one, and nothing of its own clause.
    """
    for i, token in enumerate(clause):
        if "negation" in token.labels or (token.negates and not grammar_only):
            is_answer = token.word == "no" and (i + 1 == len(clause) or clause[i + 1].after_mark)
            if is_answer and i > 0:
                return _content(clause[:i])
            if not is_answer:
                return _content(clause[i + 1 :]) or _content(clause[:i])
    return frozenset()


def _without_prefix(token: Token) -> list[str]:
    """Return the key of a word without a prefix that negates: of "valid" for "invalid"."""
    if token.is_han:
        return []
    prefixes = [prefix for prefix in words().negative_prefixes if token.word.startswith(prefix)]
    return [stem(token.word.removeprefix(prefix)) for prefix in prefixes]


def _fits(stated: frozenset[str], clauses: Sequence[_Clause]) -> bool:
    """Return whether one of the clauses has all content of a statement."""
    return any(stated <= clause.content for clause in clauses)


def changes_qualifier(sentence: str, statements: Sequence[str]) -> bool:
    """Return whether the statements lost a qualifier of the sentence ("only", "may"), or added one.

    A qualifier is lost if the clause of a statement that has most of what it qualifies has none of its kind.
    A condition ("unless booked") holds for the whole sentence, so it is lost if no statement has one.

    >>> changes_qualifier("At most 50 people may enter.", ["50 people may enter."])
    True
    >>> changes_qualifier("The drug may cause death.", ["The drug can cause death."])
    False
    >>> changes_qualifier("王明是副总经理。", ["王明是总经理。"])
    True
    >>> changes_qualifier("桥长约90米。", ["桥长90米左右。"])
    False
    """
    lists = words()
    stated = [tokens(statement) for statement in statements]
    of_sentence = tokens(sentence)
    allowed = {kind for token in of_sentence for kind in lists.kinds if _has(token, kind)}
    allowed |= lists.may_be_added
    for statement in stated:
        for token in statement:
            if any(f"qualifier:{kind}" in token.labels and kind not in allowed for kind in lists.kinds):
                return True
    said = {kind for statement in stated for token in statement for kind in lists.kinds if _has(token, kind)}
    if any(
        f"qualifier:{kind}" in token.labels for token in of_sentence for kind in lists.of_the_whole - said
    ):
        return True
    parts = [part for statement in stated for part in _parts(statement)]
    return any(
        f"qualifier:{kind}" in token.labels and _is_lost(kind, clause, i, parts)
        for clause in _parts(of_sentence)
        for i, token in enumerate(clause)
        for kind in lists.kinds
    )


def _has(token: Token, kind: str) -> bool:
    return f"qualifier:{kind}" in token.labels or f"kept:{kind}" in token.labels


def _is_lost(kind: str, clause: Sequence[Token], i: int, parts: Sequence[Sequence[Token]]) -> bool:
    """Return whether the part that has most of what token `i` qualifies has no qualifier of its kind."""
    if kind in words().beside_number:
        after = [token.key for token in clause[i + 1 :] if token.is_number]
        before = [token.key for token in clause[:i] if token.is_number]
        scope = frozenset(after[:1] or before[-1:])
    else:
        scope = _content(clause[i + 1 :]) or _content(clause[:i])
    shared = [len(scope & _content(part)) for part in parts]
    most = max(shared, default=0)
    if not most or 2 * most < len(scope):
        return False  # the statements omit it altogether
    closest = [part for part, number in zip(parts, shared, strict=True) if number == most]
    return not any(_has(token, kind) for part in closest for token in part)


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
    clauses = _clauses(sentence)
    for statement in map(tokens, statements):
        if _takes_value(clauses, statement) or _takes_part(clauses, statement):
            return True
        if any(_swaps(clause.tokens, statement) for clause in clauses):
            return True
    return _mixes_lists(tokens(sentence), statements)


def _takes_value(clauses: Sequence[_Clause], statement: Sequence[Token]) -> bool:
    """Return whether a statement has the number of one clause with the words of another.

    It has a number and no other word that only the first clause has, and words but no number that only the
    second has: "The dose is 10 mg for adults" of "5 mg for adults and 10 mg for children".
    """
    stated = _content(statement)
    numbers = frozenset(token.key for token in statement if token.is_number)
    with_numbers = [(clause, clause.own & _numbers(clause.tokens)) for clause in clauses]
    with_numbers = [(clause, own) for clause, own in with_numbers if own]
    for clause, own in with_numbers:
        other_words = clause.own - own
        if not own & numbers or not other_words or other_words & stated:
            continue
        for another, its_own in with_numbers:
            if another is not clause and not its_own & numbers and (another.own - its_own) & stated:
                return True
    return False


def _takes_part(clauses: Sequence[_Clause], statement: Sequence[Token]) -> bool:
    """Return whether a statement is about the name that begins one clause, and has a value of another's.

    "Rome is the capital of France" of "Paris is the capital of France and Rome of Italy".
    """
    stated = _content(statement)
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


def _headed(clause: _Clause) -> _Headed | None:
    """Return the parts of a clause that begins with a name and says something of its own, or None."""
    after_article = [token for token in clause.tokens if token.word not in _BEFORE_NAME]
    if not after_article:
        return None
    is_han = after_article[0].is_han
    if is_han:
        content = [token for token in after_article if token.is_content]
        head = clause.own.intersection(token.key for token in content[:_HAN_NAME])
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
        return sum(token.is_han for token in self.tokens) >= _HAN_NAME


def _swaps(clause: Sequence[Token], statement: Sequence[Token]) -> bool:
    """Return whether two parties of a clause have changed places around what stands between them."""
    if len(clause) > _MAX_COMPARED or len(statement) > _MAX_COMPARED:
        return False
    known = _content(clause)
    if not _stated_in(known, statement):
        return False  # other words may say the same from the other side: "sold" and "bought"
    passive = _has_agent(clause)
    turned = passive != _has_agent(statement)
    if turned and _keeps_order_of_passive(clause if passive else statement, statement if passive else clause):
        return True
    if _is_in_order(clause, statement) or _is_in_order(statement, clause):
        return False
    if _exchanges_markers(clause, statement):
        return True
    if turned:
        return False
    blocks = _blocks(clause, statement)
    for i, middle in enumerate(blocks):
        before = [block for block in blocks[:i] if block.is_party and block.start > middle.start]
        after = [block for block in blocks[i + 1 :] if block.is_party and block.start < middle.start]
        # "在北京出生的王明" and "王明出生在北京" say the same.
        relative = any("的" in _between(clause, middle.start, block.start) for block in before)
        if before and after and not relative:
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
    """Return whether a statement has no content but that of a clause, apart from names."""
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
        best = range(0)
        for start in places.get(statement[position].key, ()):
            end = start
            while (
                end < len(clause)
                and position + end - start < len(statement)
                and end not in used
                and clause[end].key == statement[position + end - start].key
                and clause[end].is_content
                and (end == start or clause[end].is_name == clause[end - 1].is_name)
            ):
                end += 1
            if end - start > len(best):
                best = range(start, end)
        used.update(best)
        if best:
            blocks.append(_Block(best.start, tuple(clause[i] for i in best)))
        position += max(1, len(best))
    return blocks


def _exchanges_markers(clause: Sequence[Token], statement: Sequence[Token]) -> bool:
    """Return whether two names or numbers have exchanged their prepositions: "from Bonn to Rome"."""
    before, after = _marked(clause), _marked(statement)
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
    if not any(word in all_words for word in ("respectively", "分别", "分別")):
        return False
    first = next((i for i, token in enumerate(sentence) if token.is_number), 0)
    values = [token.key for token in sentence[first:] if token.is_number]
    parties = _listed(sentence[:first])
    if len(parties) != len(values) or len(set(values)) != len(values):
        return False
    for stated in map(_content, map(tokens, statements)):
        pairs = zip(parties, values, strict=True)
        named = [party for party in parties if party <= stated]
        wrong = [value for party, value in pairs if value in stated and not party <= stated]
        if wrong and len(named) == 1:
            return True
    return False


def _listed(part: Sequence[Token]) -> list[frozenset[str]]:
    """Return the beginning of each item of a list: a word, or two Han characters."""
    items: list[list[Token]] = []
    for token in part:
        if token.word in ("and", "和", "与", "及"):
            items.append([])
            continue
        if token.after_mark or not items:
            items.append([])
        if token.is_content:
            items[-1].append(token)
    beginnings = [item[: _HAN_NAME if item[0].is_han else 1] for item in items if item]
    return [frozenset(token.key for token in beginning) for beginning in beginnings]


def _clauses(sentence: str) -> list[_Clause]:
    """Return the clauses of a sentence."""
    parts = _parts(tokens(sentence))
    contents = [_content(part) for part in parts]
    counts = Counter(key for content in contents for key in content)
    return [
        _Clause(part, content, frozenset(key for key in content if counts[key] == 1))
        for part, content in zip(parts, contents, strict=True)
    ]


def _parts(of_text: Sequence[Token]) -> list[tuple[Token, ...]]:
    """Cut the tokens of a text into clauses. One without content ("Usually, ...") is part of the next one.

    But a "No" behind a question is part of the question.

    >>> [len(part) for part in _parts(tokens("Is it safe? No, it is toxic."))]
    [4, 3]
    >>> [len(part) for part in _parts(tokens("Usually, it rains in May, and in June it snows."))]
    [5, 5]
    """
    parts: list[tuple[Token, ...]] = []
    pending: tuple[Token, ...] = ()
    for _, group in groupby(of_text, lambda token: token.clause):
        pending += tuple(group)
        if parts and pending[0].initial and "negation" in pending[0].labels and not _content(pending):
            parts[-1] += pending
            pending = ()
        if _content(pending):
            parts.append(pending)
            pending = ()
    if pending and parts:
        pending = parts.pop() + pending
    return [*parts, pending] if pending else parts


def _content(part: Sequence[Token]) -> frozenset[str]:
    return frozenset(token.key for token in part if token.is_content)


def _numbers(part: Sequence[Token]) -> frozenset[str]:
    return frozenset(token.key for token in part if token.is_number)
