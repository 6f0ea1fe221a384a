"""The tree engine: `engine.generate(prefix, context, items, Schema) -> [Reply]` is what the package sees."""
