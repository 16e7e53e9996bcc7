"""`python -m etconfig`."""

from etconfig.cli.startup.main import main

if __name__ == "__main__":
    main()
