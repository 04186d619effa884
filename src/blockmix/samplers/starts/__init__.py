"""Where chains start: partitions, memberships and strengths, and starts that the user gives."""
