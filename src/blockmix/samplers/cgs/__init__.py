"""`cgs`: collapsed Gibbs sampling."""
