"""What comes out: running summaries, memberships, covers, link prediction."""
