"""Reports as pages: one file with style and script in it, which needs nothing from elsewhere."""
