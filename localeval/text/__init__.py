"""Pure functions on text: language, sentences, numbers, shared words. They need no judge."""
