//! Probes of real lines: to another host, between two network namespaces, and the end that answers.

use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::path::Path;
use std::sync::mpsc::channel;

use lockgate::Seed;
use lockgate::units::{Bytes, Duration, Rate};
use lockgate_dataplane::namespace::Namespace;
use lockgate_dataplane::netlink::Netlink;
use lockgate_identify::{Arrival, Identified, Limits, Observation, Probe, Prober, Sent, identify};
use lockgate_live::line_probe::{
    Client, Direction, Error, Event, Lateness, Noise, Packet, Passage, Server, loopback,
    serve as serve_clients,
};
use lockgate_measure::report::Origin;
use lockgate_monitor::server::fresh_token;

use super::{Probed, ends, limits};
use crate::arguments::{self, Identify, identify_address};
use crate::exit::{Exit, Failure};
use crate::interrupt;
use crate::output::tell;
use crate::runs;
use lockgate::figures;

/// Variable with the token that both ends must have.
const TOKEN: &str = "LOCKGATE_TOKEN";

/// Shares of the packets from which on a probe decides nothing, because its stamps or its losses are the
/// hosts' own.
const MOST_SLOW: f64 = 0.01;
const MOST_LATE: f64 = 0.1;
const MOST_REFUSED: f64 = 0.01;
const MOST_DROPPED: f64 = 0.001;

fn token() -> Option<String> {
    std::env::var(TOKEN).ok().filter(|token| !token.is_empty())
}

fn failed(error: &Error) -> Failure {
    let help = match error {
        Error::Token => "set LOCKGATE_TOKEN to the token that `lockgate identify --serve` printed there",
        Error::Version => "use the same version at both ends",
        Error::Unreachable => "let UDP pass to the port of `lockgate identify --serve`, and back",
        Error::Silence => "is the line cut, or far slower than 0.5 Mbit/s?",
        Error::Busy => "a probe takes up to half a minute each way: try again after it",
        Error::Spent => "give a larger --budget there",
        Error::Interrupted => "nothing more is sent",
        Error::Refused { what, .. } if what.starts_with("listen") => {
            "name an address of this host, and a port on which nothing else listens: `--serve ADDRESS:PORT`"
        }
        Error::Refused { .. } | Error::Ended => {
            "run `lockgate identify --serve` there; its port must be open for TCP and UDP"
        }
    };
    Failure::run(error, help)
}

/// Measures this host, and refuses it if it is too late for the rate.
fn quiet_host(most: Rate) -> Result<Noise, Failure> {
    let noise = loopback(most).map_err(|error| failed(&error))?;
    match noise.refusal(most) {
        None => Ok(noise),
        Some(why) => Err(Failure::Missing {
            message: format!("this host is too late for {most}: {why}"),
            help: "give a lower --most, or end what else runs here".to_owned(),
        }),
    }
}

fn most(limits: &Limits) -> Rate {
    Rate::from_bits(limits.most as u64)
}

/// Says what will be sent, before it is.
fn announce(limits: &Limits, directions: &[Direction], noise: &Noise) {
    let ways = if directions.len() > 1 { " each way" } else { "" };
    tell!(
        "sends at most {} in {:.0} s{ways}, never above {}; stops after 2 s of silence",
        Bytes(limits.bytes),
        limits.seconds,
        most(limits)
    );
    tell!(
        "this host: 99 of 100 packets leave within {} of their time, and are stamped within {}",
        figures::seconds(Some(noise.slip.as_secs_f64())),
        figures::seconds(Some(noise.passage.as_secs_f64()))
    );
}

fn directions(arguments: &Identify) -> &'static [Direction] {
    match arguments.direction {
        arguments::Direction::Both => &[Direction::Up, Direction::Down],
        arguments::Direction::Up => &[Direction::Up],
        arguments::Direction::Down => &[Direction::Down],
    }
}

/// Answers others until the time is over or Ctrl-C.
pub(super) fn serve(arguments: &Identify, address: SocketAddr) -> Result<Exit, Failure> {
    interrupt::listen();
    let limits = limits(arguments)?;
    quiet_host(most(&limits))?;
    let (given, fresh) = (token(), fresh_token()?);
    let is_given = given.is_some();
    let token = given.unwrap_or(fresh);
    let server = Server {
        address,
        token: token.clone(),
        most: most(&limits),
        bytes: limits.bytes,
        at_most: runs::time(arguments.lasting.as_deref().unwrap_or("1h"))?,
        once: arguments.once,
    };
    let mut told = |event: Event| match event {
        Event::Listening(at) if is_given => tell!("listening at {at}, TCP and UDP"),
        Event::Listening(at) => tell!(
            "listening at {at}, TCP and UDP; at the other end:\n  LOCKGATE_TOKEN={token} lockgate identify HOST:{}",
            at.port()
        ),
        Event::Refused(from, why) => tell!("refused {from}: {why}"),
        Event::Served(from, packets, bytes) => {
            tell!("served {from}: {} received, {} sent", figures::count(packets, "packet"), Bytes(bytes));
        }
    };
    serve_clients(&server, &interrupt::is_requested, &mut told).map_err(|error| failed(&error))?;
    Ok(if interrupt::is_requested() { Exit::Interrupted } else { Exit::Ok })
}

/// Probes the line to a host that serves.
pub(super) fn between_hosts(
    arguments: &Identify,
    host: &str,
    take: &mut dyn FnMut(Probed),
) -> Result<(), Failure> {
    let limits = limits(arguments)?;
    let to = identify_address(host).map_err(|why| {
        Failure::usage(
            format!("`{host}` is neither a file nor a host: {why}"),
            "name a scenario, or a host that runs `lockgate identify --serve`",
        )
    })?;
    let token = token().ok_or_else(|| {
        Failure::usage(
            "the other end wants a token, and LOCKGATE_TOKEN is not set",
            "set it to the one that `lockgate identify --serve` printed there",
        )
    })?;
    interrupt::listen();
    let noise = quiet_host(most(&limits))?;
    announce(&limits, directions(arguments), &noise);
    let names = ["here", host];
    probe(to, &token, &limits, directions(arguments), names, &mut |probed| take(probed))
        .map_err(|error| failed(&error))
}

/// Longest live run of a file: a bound for a probe that does not end.
const LONGEST_RUN: Duration = Duration::from_secs(3_600);

/// Probes between two network namespaces.
pub(super) fn between_namespaces(
    arguments: &Identify,
    a: &str,
    b: &str,
    take: &mut dyn FnMut(Probed),
) -> Result<(), Failure> {
    let limits = limits(arguments)?;
    let [near, far] =
        [Namespace::open(a).map_err(|why| refused(&why))?, Namespace::open(b).map_err(|why| refused(&why))?];
    interrupt::listen();
    between(arguments, &limits, [&near, &far], [a, b], take)
}

/// Probes between two hosts of a file that runs on real packets meanwhile.
pub(super) fn in_live_file(
    arguments: &Identify,
    file: &Path,
    take: &mut dyn FnMut(Probed),
) -> Result<Exit, Failure> {
    let mut scenario = arguments.seeded.reading.read(file)?;
    let (from, to) = ends(arguments, &scenario)?;
    let limits = limits(arguments)?;
    lockgate::prepare_live()?;
    interrupt::listen();
    scenario.duration = LONGEST_RUN;
    if arguments.alone {
        for flow in &mut scenario.flows {
            (flow.start, flow.start_law) = (LONGEST_RUN, None);
        }
    }
    let (results, probed) = channel();
    let mut done = Ok(());
    let seed = Seed(arguments.seeded.seed);
    let outcome =
        lockgate_live::beside(&scenario, seed, &mut |_| interrupt::is_requested(), &mut |testbed| {
            let named = |name: &str| {
                let host = testbed.hosts.iter().find(|host| host.name == name).map(|host| &host.namespace);
                host.ok_or_else(|| {
                    let help = "name hosts, at which flows or links end, with `--between FROM TO`";
                    Failure::usage(format!("`{name}` is a router, and a probe goes between hosts"), help)
                })
            };
            done = named(&from).and_then(|near| Ok([near, named(&to)?])).and_then(|spaces| {
                between(arguments, &limits, spaces, [&from, &to], &mut |one| {
                    let _ = results.send(one);
                })
            });
        });
    probed.try_iter().for_each(take);
    done?;
    let outcome = outcome.map_err(Failure::live)?;
    for why in &outcome.unfaithful {
        tell!("outside the fidelity limits: {why}");
    }
    Ok(if outcome.unfaithful.is_empty() { Exit::Ok } else { Exit::Unfaithful })
}

fn refused(why: &lockgate_dataplane::error::Refusal) -> Failure {
    Failure::Missing {
        message: why.to_string(),
        help:
            "name two of `ip netns`, or paths such as `/proc/PID/ns/net`; entering them needs root's rights"
                .to_owned(),
    }
}

/// Probes between two namespaces, which have these names.
fn between(
    arguments: &Identify,
    limits: &Limits,
    spaces: [&Namespace; 2],
    [a, b]: [&str; 2],
    take: &mut dyn FnMut(Probed),
) -> Result<(), Failure> {
    let noise = quiet_host(most(limits))?;
    let address = common_address(spaces).map_err(|why| refused(&why))?.ok_or_else(|| {
        Failure::usage(
            format!("no address of `{b}` is reached from `{a}`"),
            "give both an address and a route to each other, and set their interfaces up",
        )
    })?;
    announce(limits, directions(arguments), &noise);
    let token = fresh_token()?;
    let server = Server {
        address,
        token: token.clone(),
        most: most(limits),
        bytes: limits.bytes,
        at_most: LONGEST_RUN,
        once: true,
    };
    beside_server(spaces, &server, |at| {
        let (results, probed) = channel();
        let inside = spaces[0].inside(|| {
            probe(at, &token, limits, directions(arguments), [a, b], &mut |probed| {
                let _ = results.send(probed);
            })
        });
        for one in probed.try_iter() {
            take(one);
        }
        inside.map_err(|why| Error::Refused { what: why.what, why: why.why })?
    })
    .map_err(|error| failed(&error))
}

/// Calls `client` with the address of `server` while it runs in the second namespace.
fn beside_server(
    spaces: [&Namespace; 2],
    server: &Server,
    client: impl FnOnce(SocketAddr) -> Result<(), Error>,
) -> Result<(), Error> {
    let (sender, listening) = channel();
    let is_over = std::sync::atomic::AtomicBool::new(false);
    let stop = || interrupt::is_requested() || is_over.load(std::sync::atomic::Ordering::Relaxed);
    std::thread::scope(|scope| {
        let serving = scope.spawn(|| {
            let mut told = |event: Event| {
                if let Event::Listening(at) = event {
                    let _ = sender.send(Ok(at));
                }
            };
            let ended = spaces[1].inside(|| serve_clients(server, &stop, &mut told));
            if let Ok(Err(error)) = ended {
                let _ = sender.send(Err(error));
            }
        });
        let done = listening.recv().map_err(|_| Error::Ended).and_then(|at| at).and_then(client);
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
        let _ = serving.join();
        done
    })
}

/// Returns an address of the second namespace to which the first has a route; the port is any.
fn common_address([a, b]: [&Namespace; 2]) -> Result<Option<SocketAddr>, lockgate_dataplane::error::Refusal> {
    let addresses = b.inside(|| Netlink::open()?.addresses())??;
    let mut addresses: Vec<IpAddr> = addresses.iter().map(|one| one.address).collect();
    addresses.retain(|address| !address.is_loopback());
    addresses.sort_by_key(IpAddr::is_ipv6);
    a.inside(|| {
        let is_reached = |to: &IpAddr| {
            let any: SocketAddr = if to.is_ipv4() { ([0; 4], 0).into() } else { ([0u16; 8], 0).into() };
            UdpSocket::bind(any).is_ok_and(|socket| socket.connect((*to, 9)).is_ok())
        };
        addresses.into_iter().find(is_reached).map(|address| SocketAddr::new(address, 0))
    })
}

/// Probes the line to a server in each direction, and passes on each result.
fn probe(
    to: SocketAddr,
    token: &str,
    limits: &Limits,
    directions: &[Direction],
    [near, far]: [&str; 2],
    take: &mut dyn FnMut(Probed),
) -> Result<(), Error> {
    let mut client = Client::connect(to, token, most(limits), &interrupt::is_requested)?;
    let (theirs, _) = client.server_limits();
    for &direction in directions {
        let mut limits = limits.clone();
        if direction == Direction::Down {
            limits.most = limits.most.min(theirs.as_bits() as f64);
        }
        let mut line = RealLine::new(&mut client, direction, limits.bytes);
        let identified: Identified = identify(&mut line, &limits)?;
        let objection = line.objection();
        let (what, line) = match direction {
            Direction::Up => (format!("from {near} to {far}"), "from here to there"),
            Direction::Down => (format!("from {far} to {near}"), "from there to here"),
        };
        let (line, origin) = (Some(line.to_owned()), Origin::Live);
        take(Probed { what, line, limits, objection, identified, origin });
    }
    Ok(())
}

/// Prober of one direction of a real line. Times are those of the client's clock since the direction began.
struct RealLine<'a, 'b> {
    client: &'a mut Client<'b>,
    direction: Direction,
    zero: u64,
    observed: Observation,
    packets: usize,
    /// Bytes that may still be sent.
    left: u64,
    lateness: Lateness,
}

impl<'a, 'b> RealLine<'a, 'b> {
    fn new(client: &'a mut Client<'b>, direction: Direction, left: u64) -> Self {
        let zero = client.now();
        let lateness = Lateness::default();
        Self { client, direction, zero, observed: Observation::default(), packets: 0, left, lateness }
    }

    /// Cuts a round at the budget: patterns are scaled by their largest flow alone.
    fn cut(&mut self, packets: &mut Vec<Sent>) {
        let mut left = self.left;
        let fits = packets.iter().take_while(|sent| {
            let rest = left.checked_sub(u64::from(sent.length));
            left = rest.unwrap_or(left);
            rest.is_some()
        });
        packets.truncate(fits.count());
        self.left = left;
    }

    /// Keeps the packets that left, at the times at which they did, and their arrivals.
    fn keep(&mut self, packets: &mut Vec<Sent>, passage: &Passage) {
        let zero = self.zero;
        let mut arrivals = Vec::new();
        let mut kept = Vec::new();
        let pairs = passage.departures.iter().zip(&passage.arrivals);
        for (sent, (departure, arrival)) in packets.iter().zip(pairs) {
            let Some(departure) = departure else { continue };
            kept.push(Sent { at: departure.saturating_sub(zero), ..*sent });
            let at = |at: i64| at.saturating_sub_unsigned(zero);
            arrivals.push(arrival.map(|one| Arrival { at: at(one.at), traffic_class: one.traffic_class }));
        }
        *packets = kept;
        self.observed.rounds.push(arrivals);
    }
}

impl Prober for RealLine<'_, '_> {
    type Error = Error;

    fn send(&mut self, probe: &mut Probe) -> Result<Observation, Error> {
        let Some(round) = probe.rounds.last_mut() else { return Ok(self.observed.clone()) };
        self.cut(&mut round.packets);
        let packet = |sent: &Sent| Packet {
            at: self.zero.saturating_add(sent.at),
            length: sent.length,
            flow: sent.flow,
            traffic_class: sent.traffic_class,
        };
        let packets: Vec<Packet> = round.packets.iter().map(packet).collect();
        let passage = self.client.pass(self.direction, &packets)?;
        self.packets += packets.len();
        let Lateness { late, slow, refused, dropped } = passage.lateness;
        self.lateness.late += late;
        self.lateness.slow += slow;
        self.lateness.refused += refused;
        self.lateness.dropped += dropped;
        self.keep(&mut round.packets, &passage);
        Ok(self.observed.clone())
    }

    fn now(&self, _index: usize) -> u64 {
        self.client.now().saturating_sub(self.zero)
    }

    fn is_real(&self) -> bool {
        true
    }

    fn objection(&self) -> Option<String> {
        let Lateness { late, slow, refused, dropped } = self.lateness;
        let limits = [
            (slow, MOST_SLOW, "left more than 1 ms after their stamps: the sending host is too busy"),
            (late, MOST_LATE, "left more than 10 ms late: the sending host is too busy"),
            (refused, MOST_REFUSED, "did not leave the sending host: the queue of its own interface is full"),
            (dropped, MOST_DROPPED, "were dropped by the receiving host's socket: it is too busy"),
        ];
        let total = self.packets.max(1) as f64;
        let over = limits.into_iter().find(|(count, most, _)| f64::from(*count) > most * total + 2.0);
        over.map(|(count, _, why)| format!("{count} of {} packets {why}", self.packets))
    }
}
