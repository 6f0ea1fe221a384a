"""Carry localeval to a machine without a network, in a folder (see README.md)."""
