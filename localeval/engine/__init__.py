"""The tree engine: one prefix a run, one context a sample, many items decoded together.

`engine.generate(prefix, context, items, Schema) -> [Reply]` is all that the rest of the package sees.
This folder is the only place that imports llama_cpp and outlines.
"""
