"""`python -m cli`."""

from cli.root import main

if __name__ == "__main__":
    main()
