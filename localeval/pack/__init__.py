"""Carry localeval to a machine with no network, in a folder.

`pack` fills it: wheels for one kind of machine (Python, system, processor, C library), llama.cpp compiled so
that any processor of that kind runs it, models, the catalog, an installer, and a manifest with the sha256 of
every file. Its install.py, or `unpack`, uses nothing of it before the bytes are checked.
"""

from __future__ import annotations
