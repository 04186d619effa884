"""Networks of two sides: directed ones, where every node sends and receives links, and those of two kinds of nodes."""
