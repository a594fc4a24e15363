"""The command line: `citemesh up | ask | search | ingest | doctor | mesh | policy | config`."""

from citemesh.cli.root import main

__all__ = ["main"]
