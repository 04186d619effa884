"""Networks that do not fit in memory: text to a saved network through files that are sorted in parts."""
