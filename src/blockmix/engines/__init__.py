"""Where arrays are stored and which processes take part: the contracts of engines, and the engines."""
