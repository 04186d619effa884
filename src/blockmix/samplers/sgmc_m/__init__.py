"""`sgmc-m`: the same with active, candidate and bulk communities."""
