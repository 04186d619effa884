"""The default local move: link indicators, (G1) to (G4)."""
