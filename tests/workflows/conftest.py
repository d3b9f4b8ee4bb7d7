"""What the tests of all workflows share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.workflows.browser import listening


@pytest.fixture
def beacon() -> Iterator[tuple[str, list[str]]]:
    """A server that nobody should ever ask, and the list of those who did."""
    with listening() as found:
        yield found
