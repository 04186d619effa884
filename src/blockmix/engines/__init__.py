"""Where arrays live and who takes part: the contracts of engines, and those that exist."""
