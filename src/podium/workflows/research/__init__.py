"""`research`: a state machine plans, runs workers, evaluates, plans again, and writes a cited article."""
