//! Applications of a scenario, with all random choices made: each connection's file and start, the behaviour
//! of its two ends, and its first sequence number. A simulation runs them over its own TCP, a live run over
//! the kernel's.

use std::collections::BTreeMap;

use lockgate_engine::random::{Random, Seed};
use lockgate_engine::units::{Bytes, Duration, Instant};
use lockgate_scenario::model::{Flow, Scenario, Transport};
use lockgate_scenario::tcp::{Application as Task, Ecn, InitialSequence, TcpModel};
use lockgate_tcp::application::{Application, Asker, Dialogue, Objects, Server, Stream, User};
use lockgate_tcp::congestion::create;
use lockgate_tcp::endpoint::{Endpoint, Role};
use lockgate_tcp::{ReceiverConfig, SenderConfig, TimerWheel};
use lockgate_traffic::{Invalid, Law, LawConfig};

use crate::failure::Failure;

/// Connection with all random choices made.
#[derive(Clone, Copy, Debug)]
pub struct Connection {
    /// Parameters; never with [`Task::Drawn`].
    pub model: TcpModel,
    /// Start. A connection led by another has the leader's start.
    pub start: Instant,
}

/// Returns the connection of flow `of`, with the files of [`random_files`]; `None` if the flow is no
/// connection.
pub fn connection(scenario: &Scenario, of: usize, files: &[Option<(Instant, Bytes)>]) -> Option<Connection> {
    let flow = scenario.flows.get(of)?;
    let Transport::Tcp(mut model) = flow.transport else { return None };
    let start = match model.application {
        // A dialogue starts at the configured start of the connection it leads.
        Task::Control { of: led } => connection(scenario, led, files)?.start,
        Task::Drawn => {
            let (start, bytes) = files.get(of).copied().flatten()?;
            model.application = Task::File(bytes);
            start
        }
        _ => Instant::ZERO + flow.start,
    };
    Some(Connection { model, start })
}

/// Draws the start and the file length of each flow with a random file; `None` for all other flows.
///
/// # Errors
/// If a law cannot be built. Reading the scenario normally finds this first.
pub fn random_files(scenario: &Scenario, seed: Seed) -> Result<Vec<Option<(Instant, Bytes)>>, Failure> {
    let mut groups = RandomFiles { seed, groups: BTreeMap::new() };
    let mut files = vec![None; scenario.flows.len()];
    for flow in &scenario.flows {
        let Transport::TcpReturn { of } = flow.transport else { continue };
        let Transport::Tcp(model) = scenario.flows[of].transport else { continue };
        if model.application == Task::Drawn {
            files[of] = Some(groups.next(&scenario.flows[of])?);
        }
    }
    Ok(files)
}

/// Random files of groups: sizes and starts, in the order of the members.
struct RandomFiles<'a> {
    seed: Seed,
    groups: BTreeMap<&'a str, Group>,
}

struct Group {
    sizes: (Law<Bytes>, Random),
    gaps: Option<(Law<Duration>, Random)>,
    /// Start of the last member's file, relative to the group's start.
    after: Duration,
}

impl<'a> RandomFiles<'a> {
    /// Draws the start and the size of this flow's file.
    fn next(&mut self, flow: &'a Flow) -> Result<(Instant, Bytes), Failure> {
        let name = flow.name.split('/').next().unwrap_or(&flow.name);
        if !self.groups.contains_key(name) {
            let group = Group::new(flow, name, self.seed).map_err(|why| Failure::build(name, &why))?;
            self.groups.insert(name, group);
        }
        let Some(group) = self.groups.get_mut(name) else { return Ok((Instant::NEVER, Bytes::ZERO)) };
        if let Some((law, random)) = &mut group.gaps {
            group.after += law.draw(random);
        }
        let (law, random) = &mut group.sizes;
        Ok((Instant::ZERO + flow.start + group.after, law.draw(random).max(Bytes(1))))
    }
}

impl Group {
    fn new(flow: &Flow, name: &str, seed: Seed) -> Result<Self, Invalid> {
        let (config, files) = (&flow.traffic.config, &flow.traffic.files);
        let size = config.size.clone().unwrap_or_else(|| LawConfig::constant(Bytes(1)));
        let stream = |what: &str| Random::stream(seed, &format!("flow/{name}/{what}"));
        let gaps = match &config.gap {
            Some(gap) => Some((Law::new(gap, "gap", files)?, stream("starts"))),
            None => None,
        };
        let sizes = (Law::new(&size, "size", files)?, stream("files"));
        Ok(Self { sizes, gaps, after: Duration::ZERO })
    }
}

/// Builds the application at one end of the connection of flow `of`: the opening end if `active`.
///
/// # Errors
/// If a law cannot be built. Reading the scenario normally finds this first.
pub fn application(
    scenario: &Scenario,
    of: usize,
    Connection { model, start }: &Connection,
    active: bool,
    seed: Seed,
) -> Result<Application, Failure> {
    let flow = &scenario.flows[of];
    Ok(match model.application {
        Task::Control { of: led } => {
            let ftp = scenario.flows[led].ftp.as_deref().copied().unwrap_or_default();
            let dialogue = if active { Dialogue::client(ftp) } else { Dialogue::server(ftp) };
            Application::Dialogue(Box::new(dialogue))
        }
        Task::Pages { request, objects } => pages(flow, (request, objects), active, seed)?,
        Task::Echo if !active => Application::Echo,
        _ if !active => Application::Sink,
        Task::Unlimited => Application::Unlimited,
        Task::File(_) if flow.ftp.is_some() => Application::Script,
        Task::File(bytes) => Application::File(bytes.0),
        Task::Drawn => Application::Sink,
        Task::Stream | Task::Echo => {
            let arrivals = flow.traffic.arrivals(seed, &flow.name).map_err(|why| failed(flow, &why))?;
            let stream = Stream::new(arrivals, *start, flow.bytes.map_or(u64::MAX, |bytes| bytes.0));
            match model.application {
                Task::Echo => Application::Asker(Box::new(Asker::new(stream))),
                _ => Application::Stream(Box::new(stream)),
            }
        }
    })
}

fn failed(flow: &Flow, why: &Invalid) -> Failure {
    Failure::build(&flow.name, why)
}

/// Builds one side of a user's pages. Both sides draw from the random streams of the connection's first
/// direction.
fn pages(
    flow: &Flow,
    (request, objects): (Bytes, u32),
    active: bool,
    seed: Seed,
) -> Result<Application, Failure> {
    let stream = |what: &str| Random::stream(seed, &format!("flow/{}/{what}", flow.name));
    let (config, files) = (&flow.traffic.config, &flow.traffic.files);
    let size = config.size.clone().unwrap_or_else(|| LawConfig::constant(Bytes(1)));
    let sizes = Law::new(&size, "size", files).map_err(|why| failed(flow, &why))?;
    let sizes = Objects::new(sizes, stream("objects"));
    if !active {
        return Ok(Application::Server(Box::new(Server::new(sizes, request.0))));
    }
    let think = match &config.gap {
        Some(gap) => {
            let law = Law::new(gap, "gap", files).map_err(|why| failed(flow, &why))?;
            Some((law, stream("thinking")))
        }
        None => None,
    };
    Ok(Application::User(Box::new(User::new(sizes, think, request.0, objects))))
}

/// Ticks within which the start of a host's count of ticks is drawn: a granule of the longest timeouts.
const DRAWN_TICKS: u64 = 4096;

/// Builds the TCP of one end of the connection of flow `of`, whose packets are those of flow `flow`: the
/// opening end if `active`.
///
/// # Errors
/// If its application cannot be built. Reading the scenario normally finds this first.
pub fn endpoint(
    scenario: &Scenario,
    (of, flow): (usize, usize),
    connection: &Connection,
    active: bool,
    seed: Seed,
) -> Result<Endpoint, Failure> {
    let (model, flow) = (&connection.model, &scenario.flows[flow]);
    let application = application(scenario, of, connection, active, seed)?;
    let role = match active {
        // Opened by its dialogue.
        true if flow.ftp.is_some() => Role::Active(Instant::NEVER),
        true => Role::Active(connection.start),
        false => Role::Passive,
    };
    // Ticks of a host have a phase of their own, as hosts have not been started together.
    let node = &scenario.nodes[flow.from];
    let span = node.tick.as_picos().saturating_mul(DRAWN_TICKS);
    let draw = Random::stream(seed, &format!("node/{}/ticks", node.name)).unit();
    let wheel = TimerWheel::new(node.tick, Duration::from_picos((draw * span as f64) as u64));
    let mut control = create(model.control());
    control.set_virtual_rtt(model.virtual_rtt);
    let frame = frame_headers(flow) + model.mss;
    let mut endpoint = Endpoint::new(role, configs(model, wheel), control, frame, application);
    if active && let Some(stop) = flow.stop {
        endpoint.set_stop(Instant::ZERO + stop);
    }
    Ok(endpoint)
}

/// Returns the configuration of an end's sender and receiver.
fn configs(model: &TcpModel, wheel: TimerWheel) -> (SenderConfig, ReceiverConfig) {
    let sender = SenderConfig {
        mss: model.mss,
        initial_window: model.initial_window,
        minimum_rto: model.minimum_rto,
        sack: model.sack,
        ecn: model.ecn.is_on(),
        pacing: model.pacing,
        wheel,
    };
    let receiver = ReceiverConfig {
        window: model.receive_window,
        delayed_ack: model.delayed_ack,
        quick_acks: model.quick_acks,
        sack: model.sack,
        ecn: model.ecn.is_on(),
        // DCTCP has every mark echoed by the flags of classic ECN (RFC 8257 section 3.2).
        exact_echo: model.control().wants_marks() || model.ecn == Ecn::Accurate,
        wheel,
    };
    (sender, receiver)
}

/// Returns the sequence number before the first byte of `flow`, a direction of a connection like `model`.
pub fn first_sequence(flow: &Flow, model: &TcpModel, seed: Seed) -> u32 {
    let mut random = Random::stream(seed, &format!("flow/{}/sequence", flow.name));
    match model.initial_sequence {
        InitialSequence::Random => random.bits(),
        InitialSequence::Run2c => (random.below(1024) << 22) | random.below(1024),
    }
}

/// Bytes of Ethernet and IP headers.
const IPV4_HEADERS: u32 = 14 + 20;
const IPV6_HEADERS: u32 = 14 + 40;

/// Returns the bytes of Ethernet and IP headers in the frames of a flow.
pub fn network_headers(flow: &Flow) -> u32 {
    if flow.fields.source.is_ipv4() { IPV4_HEADERS } else { IPV6_HEADERS }
}

/// Returns the bytes of headers around a segment in its frame: Ethernet, IP, TCP with time stamps.
pub(crate) fn frame_headers(flow: &Flow) -> u32 {
    network_headers(flow) + 32
}
