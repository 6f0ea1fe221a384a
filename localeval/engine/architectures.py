"""What is known of model architectures, for reading hidden states and for judging.

An architecture is named as a GGUF file names it, in `general.architecture`. One more is registered in a line:

    from localeval import Architecture, register_architecture

    register_architecture(Architecture("llama", residual_node="l_out-{layer}"))
"""

from __future__ import annotations

from dataclasses import dataclass

from localeval.errors import InputError


@dataclass(frozen=True)
class Architecture:
    """A model architecture.

    residual_node  name of the node of llama.cpp's graph that is the residual stream after a layer, with
                   "{layer}" for the layer, counted from 0; empty where it is not known, so that a model of
                   this architecture can't be read
    depth          share of its layers after which a model is read by default, 0 to 1
    read_share     share of a token's time that a token takes which is read at this depth, 0 to 1
    may_judge      whether a model of this architecture may judge: a plain text decoder may
    """

    name: str
    residual_node: str = ""
    depth: float = 0.57
    read_share: float = 0.58
    may_judge: bool = True

    def node(self, layer: int) -> str:
        """Return the name of the residual stream after `layer`.

        >>> ARCHITECTURES["qwen2"].node(15)
        'l_out-15'
        """
        return self.residual_node.format(layer=layer)

    def default_layer(self, layers: int) -> int:
        """Return the layer after which a model of so many layers is read by default, counted from 0.

        >>> ARCHITECTURES["qwen2"].default_layer(28)
        15
        """
        return round(self.depth * layers) - 1


ARCHITECTURES: dict[str, Architecture] = {}


def register_architecture(architecture: Architecture) -> Architecture:
    """Make an architecture known, or replace what is known of it. Raises InputError for a wrong value.

    >>> register_architecture(Architecture("two-way", residual_node="l_out-{layer}", depth=0.5)).depth
    0.5
    >>> ARCHITECTURES.pop("two-way").node(3)
    'l_out-3'
    """
    name = architecture.name
    if not name:
        raise InputError("an architecture has no name; give the value of general.architecture in its files.")
    if architecture.residual_node and "{layer}" not in architecture.residual_node:
        raise InputError(
            f"the residual_node of {name} is {architecture.residual_node!r}; "
            "write {layer} in it where llama.cpp writes the number of a layer."
        )
    for what, share in (("depth", architecture.depth), ("read_share", architecture.read_share)):
        if not 0 < share < 1:
            raise InputError(f"the {what} of {name} is {share}; give a share between 0 and 1.")
    ARCHITECTURES[name] = architecture
    return architecture


def find_architecture(name: str) -> Architecture:
    """Return what is known of an architecture; of another one, that it may judge and can't be read."""
    return ARCHITECTURES.get(name, Architecture(name))


# The graphs of Qwen2, Qwen2.5 and Qwen3. Half way up is the best depth: 16 of 28 layers, which take 0.58 of
# a token's time.
for _name in ("qwen2", "qwen3"):
    register_architecture(
        Architecture(_name, residual_node="l_out-{layer}", depth=0.57, read_share=0.58, may_judge=True)
    )
