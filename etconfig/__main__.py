"""`python -m etconfig`."""

from etconfig.cli.main import main

if __name__ == "__main__":
    main()
