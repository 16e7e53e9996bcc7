"""Running the checks on a backend, here or in processes of their own, and reporting the results."""
