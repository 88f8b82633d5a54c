"""Servers on this machine that answer as a test says."""

import http.server
import json
import threading
from contextlib import contextmanager


class Handler(http.server.BaseHTTPRequestHandler):
    """Says nothing of what it is asked."""

    def log_message(self, *_):
        pass

    def posted(self):
        """What was posted, as JSON."""
        return json.loads(self.rfile.read(int(self.headers["Content-Length"])))


@contextmanager
def serving(server):
    """A server that runs in a thread meanwhile."""
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
