"""Text files to networks: blocks of lines, the byte parser, labels, and errors that name the line."""
