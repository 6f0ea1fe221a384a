"""Pure functions of text: language, sentences, numbers, shared words. No model, no file."""
