"""Tell whether statements say what the sentence says from which they were written.

Words are compared by their stems, Chinese by its characters, so that a statement may be worded in another
way: with a name for a pronoun, "can't" for "not", "might" for "may", 7 for "seven". What can't be seen by
words alone is not found: a verb for its opposite, an adjective that was left out.
"""

from localeval.claims.fidelity.exchanges import exchanges as exchanges
from localeval.claims.fidelity.negations import changes_negation as changes_negation
from localeval.claims.fidelity.omissions import omits as omits
from localeval.claims.fidelity.qualifiers import changes_qualifier as changes_qualifier
