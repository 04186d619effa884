"""What every sampler stores and everybody reads: rows, running summaries, packed samples, predictions, pairs."""
