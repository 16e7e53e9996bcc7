"""Read large plans by columns with numpy."""
