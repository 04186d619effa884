"""What every kernel is made of: compiling, random numbers, variates, special functions, threads."""
