"""Paths: a network between two ends, whose packets are the program's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from . import _arguments, _lockgate, _toml
from ._errors import RunError, refuse_pickle
from ._run import Run
from ._scenario import Scenario
from ._toml import Value
from ._units import Time

#: Values of the ECN field (RFC 3168): not capable, ECT(1), ECT(0), marked.
NOT_ECT, ECT_1, ECT_0, CE = range(4)


class Delivery(NamedTuple):
    """A packet at the end of its way. Times are seconds since the start of the path."""

    #: End at which it arrived.
    end: int
    #: Contents; empty if only their number was given.
    data: bytes
    #: ECN field on arrival: 3 if a queue on the way marked it.
    ecn: int
    #: DSCP on arrival.
    dscp: int
    #: Time of the arrival of its last bit.
    time: float
    #: Time at which it was sent.
    sent: float
    #: Time that it waited in queues.
    queued: float
    #: Frame length on the line in bytes, headers included.
    length: int
    #: Number among the packets that its sender sent, from 0.
    number: int

    @property
    def is_marked(self) -> bool:
        """True if a queue on the way marked it."""
        return self.ecn == CE


class PathRun(Run):
    """Results of a path: those of a run of one seed.

    The packets of its ends were a program's, so nothing makes it once more: rows of packets are there only if they
    were kept (`packets=True`).
    """

    def __init__(self, inner: _lockgate.Run) -> None:
        self._inner = _arguments.instance("inner", inner, _lockgate.Run, "the results of `Path.finish`")

    @property
    def scenario(self) -> Scenario:
        """Raises an error: no scenario has the packets of the ends.

        Raises:
            RunError: Always.
        """
        raise RunError("no scenario repeats this run: the packets of its ends were a program's")

    def __getitem__(self, run: int) -> Run:
        """Returns this run, which is the only one."""
        if _arguments.whole("run", run, -_arguments.LARGEST) not in (0, -1):
            raise IndexError(f"there is no run {run}: there is one")
        return self

    @property
    def _title(self) -> str:
        return "a path"

    def _command(self) -> str:
        return ""

    def __repr__(self) -> str:
        return f"<lockgate.PathRun: {self.verdict}>"


class Path:
    """A network between two ends, for tests of transports. It has no clock, socket or thread: you pass the time.

    >>> import lockgate as lg
    >>> path = lg.Path.between("client", "server", rate=lg.mbit(10), delay=lg.ms(20), queue="fq_codel")
    >>> client, server = path.ends
    >>> path.send(0, client, b"hello", ecn=lg.Path.ECT_0)
    True
    >>> arrived = path.receive()
    >>> arrived.end == server, arrived.data, arrived.time
    (True, b'hello', 0.0200376)
    >>> path.receive(until=1), path.time
    (None, 1.0)
    >>> path.finish().flows["client-server"].owd.p50 < 0.021
    True
    """

    NOT_ECT, ECT_1, ECT_0, CE = NOT_ECT, ECT_1, ECT_0, CE

    def __init__(
        self,
        scenario: str | Scenario,
        *,
        between: tuple[str, str] | None = None,
        flow: str | None = None,
        seed: int = 1,
        packets: bool = False,
    ) -> None:
        """Builds the network of a scenario: its cross traffic, other flows, changes and expectations go on beside.

        Args:
            scenario: The scenario, or its text, which may be without flows.
            between: Two nodes where the ends are.
            flow: A flow of the scenario instead, whose packets are yours.
            seed: Seed of the random draws.
            packets: Keeps a row of each packet at each queue, for captures and `Run.packets`.

        Raises:
            ScenarioError: If the scenario has problems, or the ends cannot be there.
        """
        text = scenario.to_toml() if isinstance(scenario, Scenario) else _arguments.text("scenario", scenario)
        pair = None if between is None else tuple(_arguments.texts("between", between))
        if pair is not None and len(pair) != 2:
            raise _arguments.wrong("between", between, "the names of two nodes")
        self._inner = _lockgate.Path.of_scenario(
            text,
            None if pair is None else (pair[0], pair[1]),
            None if flow is None else _arguments.text("flow", flow),
            _arguments.whole("seed", seed),
            _arguments.truth("packets", packets),
            scenario._inner if isinstance(scenario, Scenario) else None,
        )

    @classmethod
    def between(
        cls,
        a: str,
        b: str,
        *,
        rate: str = "100mbit",
        delay: str = "0ms",
        queue: str = "fifo",
        loss: str = "0%",
        seed: int = 1,
        packets: bool = False,
    ) -> Path:
        """Builds a path of one link between two ends.

        Args:
            a: Name of the first end.
            b: Name of the second end.
            rate: Rate of the link, in both directions.
            delay: Propagation delay one way.
            queue: Discipline before the link, in both directions.
            loss: Probability that the link loses a packet.
            seed: Seed of the random draws.
            packets: Keeps a row of each packet at each queue, for captures and `Run.packets`.

        Raises:
            ScenarioError: If a value cannot be read.
        """
        names = {"a": a, "b": b, "rate": rate, "delay": delay, "queue": queue, "loss": loss}
        for name, value in names.items():
            _arguments.text(name, value)
        path = cls.__new__(cls)
        whole, truth = _arguments.whole("seed", seed), _arguments.truth("packets", packets)
        path._inner = _lockgate.Path.between(a, b, rate, delay, queue, loss, whole, truth)
        return path

    @property
    def ends(self) -> tuple[int, int]:
        """The two ends: of `between` in its order, of a flow its sender first."""
        return 0, 1

    @property
    def time(self) -> float:
        """Time up to which the path has been advanced, in seconds."""
        return self._inner.time

    @property
    def in_flight(self) -> int:
        """Number of your packets that the path holds: in queues, on lines, and arrived but not received."""
        return self._inner.in_flight

    def send(self, now: Time, end: int, data: bytes | int, *, ecn: int = NOT_ECT, dscp: int = 0) -> bool:
        """Sends a datagram; 42 bytes of headers are added on the line.

        Args:
            now: Time: seconds, or a text such as `"10ms"`. Not before `time`.
            end: End that sends.
            data: Contents, or only their number of bytes.
            ecn: ECN field, such as `Path.ECT_0`.
            dscp: Code point, from 0 to 63.

        Returns:
            False if the first queue refused it or the first line lost it; otherwise it may still be lost.

        Raises:
            ArgumentError: If the time is in the past, the path has ended, or there is no such end.
        """
        now, end = _arguments.time("now", now), _arguments.whole("end", end)
        ecn, dscp = _arguments.whole("ecn", ecn, 0, 3), _arguments.whole("dscp", dscp, 0, 63)
        if isinstance(data, (bytes, bytearray, memoryview)):
            return self._inner.send(now, end, bytes(data), ecn, dscp)
        return self._inner.send_length(now, end, _arguments.whole("data", data), ecn, dscp)

    def send_ip(self, now: Time, end: int, packet: bytes) -> bool:
        """Sends an IPv4 or IPv6 packet, whose headers are read. A mark is written into it on the way.

        Raises:
            ArgumentError: As `send`; and if the headers cannot be read.
        """
        return self._inner.send_ip(_arguments.time("now", now), _arguments.whole("end", end), bytes(packet))

    def receive(self, until: Time | None = None) -> Delivery | None:
        """Advances the path to the next arrival at either end, at the latest to `until`.

        Answer an arrival before the next call: what an end sends at that instant enters the network before any other
        event, as a host's answer does.

        Args:
            until: Time, not before `time`; `None` for the next arrival, whenever it is.

        Returns:
            The packet, or `None` if none arrived: then `time` is `until`, or the end of the scenario.
        """
        arrived = self._inner.receive(None if until is None else _arguments.time("until", until))
        return None if arrived is None else Delivery(*arrived)

    def next(self) -> float | None:
        """Returns the time at which something happens next; `None` if nothing does until something is sent."""
        return self._inner.next()

    def set(self, now: Time, path: str | Mapping[str, Value], value: Value | None = None) -> None:
        """Changes a value of the network from `now` on, as a `[[change]]` of a scenario does.

        Args:
            now: Time, not before `time`.
            path: Path of the value, such as `"link.path.rate"`; or values by path.
            value: The value.

        Raises:
            ScenarioError: If it cannot be changed so. Nothing is changed then.
        """
        at = _arguments.time("now", now)
        values = path if isinstance(path, Mapping) else {path: value}
        for one, of in values.items():
            key, _, text = _toml.setting(one, of).partition("=")  # type: ignore[arg-type]
            self._inner.set(at, key, text)

    def finish(self, *, run: bool = False) -> PathRun:
        """Ends the path. Packets still inside are counted.

        Args:
            run: Advances it to the end of its scenario first.

        Returns:
            Its results, as those of a run: `metric`, `flows`, `ports`, `save(directory)` with the report.

        Raises:
            RunError: If it is finished already.
        """
        return PathRun(self._inner.finish(_arguments.truth("run", run)))

    def __reduce__(self) -> Any:
        refuse_pickle(self, "build it there")

    def __repr__(self) -> str:
        return f"<lockgate.Path at {self.time:g} s>"

