"""Whose a thread is."""

from dataclasses import dataclass

from citemesh.kit import deadline


@dataclass(frozen=True, slots=True)
class Owner:
    """A caller within its tenant; both are empty where no identity policy stands in front."""

    tenant: str
    subject: str


NOBODY = Owner("", "")


def current_owner() -> Owner:
    """Who makes the current call, as the identity policy established."""
    return Owner(deadline.current_tenant(), deadline.current_subject())
