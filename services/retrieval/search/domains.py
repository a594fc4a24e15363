"""Domains of addresses."""

from urllib.parse import urlsplit


def domain(uri: str) -> str:
    """Host of a URL in lower case; empty for a path."""
    try:
        return (urlsplit(uri).hostname or "").lower().rstrip(".")
    except ValueError:
        return ""


def suffix(name: str) -> str:
    """What "." and a host end with where the host is of a domain: ".example.org" for "Example.org"."""
    return "." + name.lower().strip(".")
