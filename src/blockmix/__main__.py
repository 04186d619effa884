"""`python -m blockmix` is `blockmix`."""

from blockmix.cli import main

if __name__ == "__main__":
    main()
