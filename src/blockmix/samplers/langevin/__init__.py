"""What `sgmc` and `sgmc-m` share: the moves of single numbers, strengths, schedules."""
