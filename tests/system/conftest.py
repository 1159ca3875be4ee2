from tests.builder.conftest import server, tiny

__all__ = ["server", "tiny"]
