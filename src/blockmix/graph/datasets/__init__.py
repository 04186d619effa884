"""Known networks: the table of them, where copies are looked for, and one that comes with the package."""
