"""`sgmc-m`: Langevin dynamics with active, candidate and bulk communities."""
