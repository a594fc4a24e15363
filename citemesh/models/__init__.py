"""Where model weights come from, and how they are prepared: a reference in a setting becomes a directory to load.

Importing this package is cheap; the libraries that convert weights are imported when a model has to be made.
"""

from citemesh.models.catalog import CATALOG, PackagedModel
from citemesh.models.prepare import prepare, prepared
from citemesh.models.prepared import Facts, Kind, Pooling, PreparedModel
from citemesh.models.progress import Progress
from citemesh.models.reference import Reference, Scheme, parse

__all__ = [
    "CATALOG",
    "Facts",
    "Kind",
    "PackagedModel",
    "Pooling",
    "PreparedModel",
    "Progress",
    "Reference",
    "Scheme",
    "parse",
    "prepare",
    "prepared",
]
