"""The models beside the judge: an embedder of sentences and a classifier of support."""
