"""The default sampler on the link model with popularities, (DC1) to (DC11); README.md derives it."""
