"""Stand-ins for Optimum: the arguments by which recipes reach engines, and the calls that use them."""
