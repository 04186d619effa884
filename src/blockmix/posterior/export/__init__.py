"""A posterior for other programs: text files, data frames, networks, ArviZ."""
