"""What communities add to the likelihood of the network (M14), in both link models."""
