"""The committed identity policy, compiled once, and configured as most tests want it."""

from __future__ import annotations

import pytest

from citemesh.mesh.identity import dump
from tests.policy.policy_host import Policy, PolicyHost, artefact
from tests.policy.policy_mesh import Mesh, sample


@pytest.fixture(scope="session")
def policy() -> Policy:
    return Policy.load(artefact("identity"))


@pytest.fixture
def host(policy: Policy) -> PolicyHost:
    return PolicyHost(policy)


@pytest.fixture
def mesh(host: PolicyHost) -> Mesh:
    config, texts = sample()
    root = host.configure(dump(config).encode())
    assert root is not None, host.log
    return Mesh(host, root, *texts)
