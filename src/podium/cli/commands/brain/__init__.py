"""`podium brain`: what projects know."""
