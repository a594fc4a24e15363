"""Whether an error is a service's, which an answer can survive, or the question's, which the caller must hear of."""

from citemesh.errors import CiteMeshError, DataLoss, DeadlineExceeded, PreconditionFailed, Retryable

_SERVICES = (Retryable, DeadlineExceeded, PreconditionFailed, DataLoss)


def is_services(error: CiteMeshError) -> bool:
    """Whether a service failed. The root of the tree alone stands for a service's unexpected error."""
    return type(error) is CiteMeshError or isinstance(error, _SERVICES)
