"""QUIC by aioquic over a path: asyncio itself runs in the time of the network, so nothing waits and nothing varies.

A file goes over 20 Mbit/s and 20 ms each way beside a call. `fq_codel` keeps the call's delay, a FIFO does not. Needs
aioquic (`pip install aioquic`), whose own protocols are used as they are.
"""

from __future__ import annotations

import asyncio
import datetime
import selectors
from typing import Any

from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.asyncio.server import QuicServer
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

import lockgate as lg

BYTES = 2_000_000
LINE = """
title = "QUIC beside a call"
duration = "60s"
node.client = {{}}
node.server = {{}}
link.line = {{ between = ["client", "server"], rate = "20mbit", delay = "20ms" }}
port."client:server".queue.q = {{ kind = "{queue}" }}
flow.call = {{ from = "client", to = "server", transport = "udp", size = "200B", gap = "2ms" }}
"""


class Transport(asyncio.DatagramTransport):
    """Socket at an end of the path."""

    def __init__(self, loop: PathLoop, end: int, peer: tuple[str, int]) -> None:
        super().__init__()
        self.loop, self.end, self.peer = loop, end, peer

    def sendto(self, data: Any, addr: Any = None) -> None:
        self.loop.path.send(self.loop.time(), self.end, bytes(data))

    def close(self) -> None:
        """No-op: the path has no socket."""


class PathSelector(selectors.SelectSelector):
    """Waits in the time of the path: the event loop's timers and the arrivals are all that happens."""

    loop: PathLoop

    def select(self, timeout: float | None = None) -> list[Any]:
        if timeout is None or timeout > 0:
            # A nanosecond late: a timer that is early by the rounding of a float would be set for the same time again.
            until = None if timeout is None else self.loop.time() + timeout + 1e-9
            arrived = self.loop.path.receive(until)
            if arrived is not None:
                peer, protocol = self.loop.protocols[arrived.end]
                self.loop.call_soon(protocol.datagram_received, arrived.data, peer)
            elif until is None or self.loop.time() < until - 1e-6:
                raise RuntimeError("the path has ended, and the program waits")
        return []


class PathLoop(asyncio.SelectorEventLoop):
    """Event loop whose clock is that of a path."""

    def __init__(self, path: lg.Path) -> None:
        self.path = path
        self.protocols: dict[int, tuple[tuple[str, int], Any]] = {}
        selector = PathSelector()
        selector.loop = self
        super().__init__(selector)

    def time(self) -> float:
        return self.path.time

    def open(self, end: int, peer: tuple[str, int], protocol: Any) -> None:
        self.protocols[end] = peer, protocol
        protocol.connection_made(Transport(self, end, peer))


def configurations() -> tuple[QuicConfiguration, QuicConfiguration]:
    """Returns the configurations of a client and a server, whose certificate is made here."""
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([])
    now, day = datetime.datetime.now(datetime.timezone.utc), datetime.timedelta(days=1)
    serial = x509.random_serial_number()
    builder = x509.CertificateBuilder(name, name, key.public_key(), serial, now - day, now + day)
    certificate = builder.sign(key, hashes.SHA256())
    client = QuicConfiguration(is_client=True, alpn_protocols=["file"], verify_mode=0)
    server = QuicConfiguration(is_client=False, alpn_protocols=["file"], certificate=certificate, private_key=key)
    return client, server


async def transfer(loop: PathLoop, client_end: int, server_end: int) -> float:
    """Sends the file. Returns the time at which it is complete."""
    client, server = configurations()
    complete: asyncio.Future[float] = loop.create_future()

    def accept(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        async def read() -> None:
            assert len(await reader.read()) == BYTES
            complete.set_result(loop.time())

        loop.create_task(read())

    loop.open(server_end, ("client", 1), QuicServer(configuration=server, stream_handler=accept))
    protocol = QuicConnectionProtocol(QuicConnection(configuration=client))
    loop.open(client_end, ("server", 2), protocol)
    protocol.connect(("server", 2))
    await protocol.wait_connected()
    _, writer = await protocol.create_stream()
    writer.write(bytes(BYTES))
    writer.write_eof()
    return await complete


def run(queue: str) -> tuple[float, float]:
    """Returns the seconds that the file takes, and the 99th percentile of the call's delay."""
    path = lg.Path(LINE.format(queue=queue), between=("client", "server"))
    loop = PathLoop(path)
    try:
        completed = loop.run_until_complete(transfer(loop, *path.ends))
    finally:
        loop.close()
    return completed, path.finish().flows["call"].owd.p99 or 0.0


if __name__ == "__main__":
    # The line less the call's share, and 42 bytes of headers for packets of at most 1200.
    ideal = BYTES * 8 / (20e6 - 242 * 8 / 2e-3) * 1242 / 1150
    results = {queue: run(queue) for queue in ("fifo", "fq_codel")}
    for queue, (completed, delay) in results.items():
        print(f"{queue}: {completed:.2f} s, ideal {ideal:.2f} s; call's p99 {delay * 1e3:.1f} ms")
        assert ideal * 0.9 < completed < ideal * 3, "the transport uses the line"
    assert results["fq_codel"][1] < 0.023, "20 ms of propagation, and a packet of the file or two"
    assert results["fifo"][1] > 1.5 * results["fq_codel"][1]
