"""`lmc`: Langevin dynamics with a Metropolis-Hastings test."""
