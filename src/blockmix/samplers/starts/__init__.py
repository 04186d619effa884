"""Where chains begin: partitions, memberships and strengths, and what the user gives."""
