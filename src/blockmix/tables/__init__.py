"""Tables that all samplers share: rows of memberships, summaries, posterior samples, the predictor, pairs of nodes."""
