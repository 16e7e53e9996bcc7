"""The backend under test, and the programs, cases and option values that it is tested with."""
