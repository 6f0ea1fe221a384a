"""`python -m localeval` is the command line."""

from localeval.cli import main

if __name__ == "__main__":
    main()
