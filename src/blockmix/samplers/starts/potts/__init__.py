"""Local moving for the constant Potts model: groups of nodes, merged at lower and lower resolutions."""
