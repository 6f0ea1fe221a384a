"""Labels of people: the file that keeps them, and fingerprints of what was labelled."""
