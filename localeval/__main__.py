"""`python -m localeval` is the command line."""

from localeval.cli import main

main()
