"""Run the command by `python -m abers.cli`."""

from abers.cli import main

if __name__ == "__main__":
    main()
