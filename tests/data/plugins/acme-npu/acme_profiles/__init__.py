raise RuntimeError("profiles are data: nothing may import this package")
