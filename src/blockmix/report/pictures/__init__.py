"""Pictures: the network's layout and drawing, plots, colours."""
