"""The result of a fit: memberships, covers, link probabilities, diagnostics, files."""
