"""The checks of the kit, a module for each topic."""
