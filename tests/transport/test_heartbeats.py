"""Calls in which nothing is sent during several heartbeats, which come forty times as fast as in releases."""

import time
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest

from dpmosaic.common.wire.tls import OPTIONS

FASTER = 40
SILENT_S = 6.0
"""Twelve heartbeats; a server that counts them as too many ends the call after eight at the latest."""

FAST = tuple(
    (key, value // FASTER if "keepalive_time_ms" in key or "ping_interval" in key else value)
    for key, value in OPTIONS
)


class Silent(grpc.GenericRpcHandler):
    """Replies with the number of requests, after a silence if its method says so."""

    def service(self, details):
        return grpc.stream_stream_rpc_method_handler(
            lambda requests, context: self.replies(details.method, requests)
        )

    def replies(self, method, requests):
        count = len(list(requests))
        if method.endswith("/Computes"):
            time.sleep(SILENT_S)
        yield b"%d" % count


@pytest.fixture
def channel():
    with ThreadPoolExecutor(2) as threads:
        server = grpc.server(threads, options=FAST)
        server.add_generic_rpc_handlers((Silent(),))
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        with grpc.insecure_channel(f"127.0.0.1:{port}", options=FAST) as made:
            yield made
        server.stop(None)


@pytest.mark.slow
def test_a_server_may_compute_for_many_heartbeats(channel):
    assert list(channel.stream_stream("/s/Computes")(iter([b"a"]))) == [b"1"]


@pytest.mark.slow
def test_a_client_may_wait_for_many_heartbeats_between_two_requests(channel):
    def requests():
        yield b"a"
        time.sleep(SILENT_S)
        yield b"b"

    assert list(channel.stream_stream("/s/Counts")(requests())) == [b"2"]
