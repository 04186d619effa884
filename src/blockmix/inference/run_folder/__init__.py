"""The folder of a run: lock, status, checkpoints."""
