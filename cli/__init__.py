"""The command line: `citemesh up | ask | search | ingest | collection | document | …`; `citemesh --help` lists all."""

from cli.root import main

__all__ = ["main"]
