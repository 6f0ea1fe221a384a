"""Numbers in text: where they stand, and the value that each has."""
