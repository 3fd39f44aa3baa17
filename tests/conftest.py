"""What tests of every kind share: warm workers, started once for each process of the test run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests.warm import Warm

# How long an example takes says how busy the machine is.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")


@pytest.fixture(scope="session")
def warm() -> Iterator[Warm]:
    """Warm workers; they start when a test first asks for a verdict."""
    workers = Warm()
    yield workers
    workers.close()
