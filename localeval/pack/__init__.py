"""Carry localeval to a machine with no network, in a folder (see README.md)."""
