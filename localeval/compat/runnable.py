"""The base class of the metrics: a `Runnable` of LangChain where langchain-core is installed.

LangChain is looked for when this module is imported, and by no other module of localeval.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeVar

from localeval.errors import InputError

T = TypeVar("T")

if TYPE_CHECKING or find_spec("langchain_core") is not None:
    from langchain_core.runnables import Runnable, RunnableLambda

    class MetricBase(Runnable[Any, float]):
        """The base class with LangChain, whose are `|`, `batch`, `with_config` and the like."""

        InputType = Any
        OutputType = float

        def call_with_config(self, function: Callable[[Any], float], inputs: Any, config: Any) -> float:
            """Return `function(inputs)`, and tell the callbacks of `config` about it."""
            return self._call_with_config(function, inputs, config)

        async def acall_with_config(
            self, function: Callable[[Any], Awaitable[float]], inputs: Any, config: Any
        ) -> float:
            """Return `await function(inputs)`, and tell the callbacks of `config` about it."""
            return await self._acall_with_config(function, inputs, config)

    def traced(name: str, function: Callable[[], T], output: Callable[[T], Any], config: Any = None) -> T:
        """Return `function()`, and tell the callbacks about it as a run of this name with this output.

        config  by default that of the run in which this is called
        """
        results: list[T] = []

        def run(_: Any) -> Any:
            results.append(function())
            return output(results[0])

        RunnableLambda(run, name=name).invoke({}, config)
        return results[0]

else:

    class MetricBase:
        """The base class without LangChain: a call is the function itself."""

        def call_with_config(self, function: Callable[[Any], float], inputs: Any, config: Any) -> float:
            """Return `function(inputs)`. Raises InputError for a config, which nothing here can follow."""
            _refuse(config)
            return function(inputs)

        async def acall_with_config(
            self, function: Callable[[Any], Awaitable[float]], inputs: Any, config: Any
        ) -> float:
            """Return `await function(inputs)`. Raises InputError for a config."""
            _refuse(config)
            return await function(inputs)

    def traced(
        name: str,  # noqa: ARG001
        function: Callable[[], T],
        output: Callable[[T], Any],  # noqa: ARG001
        config: Any = None,
    ) -> T:
        """Return `function()`. Raises InputError for a config."""
        _refuse(config)
        return function()


def _refuse(config: Any) -> None:
    if config:
        raise InputError(
            "config and callbacks are LangChain's, and langchain-core is not installed; "
            "pip install 'localeval[langchain]'."
        )
