"""What blockmix finds out before a fit begins: what the user leaves open, and whether it fits into memory."""
