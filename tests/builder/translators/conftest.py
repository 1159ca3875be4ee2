import pytest

from tests.builder.translators.server import serving


@pytest.fixture
def server():
    """A stand-in for the services of googletrans and openai."""
    with serving() as server:
        yield server
