"""Runs over a data set: evaluate, store, rescore, verify and compare them, and make gates and judge cards."""
