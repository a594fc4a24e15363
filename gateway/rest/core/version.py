"""The version of CiteMesh that answers."""

from importlib.metadata import PackageNotFoundError, version


def own_version() -> str:
    """The version of CiteMesh."""
    try:
        return version("citemesh")
    except PackageNotFoundError:
        return "0.0.0"
