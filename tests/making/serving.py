"""What the stand-ins of servers share: quick answers on kept connections, and no noise."""

import sys
from http.server import ThreadingHTTPServer
from typing import Any


class QuietServer(ThreadingHTTPServer):
    """Ignore broken connections of clients; print other errors."""

    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class KeptConnection:
    """Let a handler keep the connection of a client."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # headers and body are two writes: else 40 ms between them
