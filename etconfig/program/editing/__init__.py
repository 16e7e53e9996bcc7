"""Changes to a program: for the conformance kit and the scaffold."""
