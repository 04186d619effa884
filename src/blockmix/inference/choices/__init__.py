"""What blockmix chooses before a fit begins, where the user leaves it open."""
