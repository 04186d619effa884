"""`python -m blockmix.cli`."""

from blockmix.cli import main

main()
