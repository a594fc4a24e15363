"""Whose fault an error is: a room's, which an answer can survive, or the question's, which the caller must hear of."""

from citemesh.errors import CiteMeshError, DataLoss, DeadlineExceeded, PreconditionFailed, Retryable

_ROOMS = (Retryable, DeadlineExceeded, PreconditionFailed, DataLoss)


def is_rooms(error: CiteMeshError) -> bool:
    """Whether a room failed. The root of the tree alone stands for a room's unexpected error."""
    return type(error) is CiteMeshError or isinstance(error, _ROOMS)
