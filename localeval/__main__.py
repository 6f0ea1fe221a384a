"""Run the command line: `python -m localeval`."""

from localeval.cli import main

if __name__ == "__main__":
    main()
