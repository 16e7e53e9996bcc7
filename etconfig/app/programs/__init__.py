"""Programs and models with the installation that runs them."""
