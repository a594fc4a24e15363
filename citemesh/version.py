"""The version of CiteMesh that is installed."""

from importlib.metadata import PackageNotFoundError, version


def own_version(otherwise: str = "0.0.0") -> str:
    """Returns the installed version; `otherwise` where CiteMesh runs without being installed."""
    try:
        return version("citemesh")
    except PackageNotFoundError:
        return otherwise
