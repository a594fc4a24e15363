"""Whose a thread is."""

from dataclasses import dataclass

from citemesh.kit import call_context


@dataclass(frozen=True, slots=True)
class Owner:
    """A caller within its tenant; both are empty where no identity policy stands in front."""

    tenant: str
    subject: str


NOBODY = Owner("", "")


def current_owner() -> Owner:
    """Who makes the current call, as the identity policy established."""
    return Owner(call_context.current_tenant(), call_context.current_subject())
