"""Objects that hold a network in memory, other than graphs: frames, arrays, and collections of Python."""
