"""The loop around a sampler: warm-up, evaluation, stopping, chains, progress, interruption."""
