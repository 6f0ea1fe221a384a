"""The tree engine: one trunk a run, one branch a sample, many leaves decoded together.

`engine.generate(trunk, branch, leaves, Schema) -> [Reply]` is all that the rest of the package sees.
This folder is the only place that imports llama_cpp and outlines.
"""
