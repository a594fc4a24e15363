"""`python -m citemesh.cli`."""

from citemesh.cli.root import main

if __name__ == "__main__":
    main()
