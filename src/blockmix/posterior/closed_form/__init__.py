"""By how much the closed form for non-links moves results: an estimate from posterior samples."""
