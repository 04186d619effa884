"""Chains on the ranks of an MPI job: `team` gives orders, `divided` and `hosted` are the two ways to share the work."""
