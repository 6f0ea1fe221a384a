"""Scripts for ragas, run with only their imports changed."""

import re
from typing import Any


def run_script(script: str, **names: Any) -> dict[str, Any]:
    """Run a script of ragas with its imports changed. `names` stand for the models that it opens."""
    changed = re.sub(r"from ragas[\w.]* import", "from localeval.compat import", script)
    scope = dict(names)
    exec(changed, scope)  # noqa: S102
    return scope
