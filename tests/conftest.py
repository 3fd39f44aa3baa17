"""What tests of every kind share: warm workers, started once for each process of the test run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.warm import Warm


@pytest.fixture(scope="session")
def warm() -> Iterator[Warm]:
    """Warm workers; they start when a test first asks for a verdict."""
    workers = Warm()
    yield workers
    workers.close()
