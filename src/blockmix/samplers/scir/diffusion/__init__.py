"""The local move by the diffusion, (S1) to (P3)."""
