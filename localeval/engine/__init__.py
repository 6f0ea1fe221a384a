"""The tree engine: `engine.generate(prefix, context, items, Schema) -> [Reply]` is its interface."""
