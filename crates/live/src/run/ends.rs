//! Threads at the ends of the flows. Per host namespace: one sender of datagrams, up to two receivers, one
//! for connections, one for its program.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::thread::{Scope, ScopedJoinHandle};

use lockgate_dataplane::mailbox::{Mailbox, Sender, mailbox};
use lockgate_measure::histogram::Histogram;
use lockgate_network::{Source, build_sources};
use lockgate_scenario::{Scenario, Transport};

use super::MTU;
use crate::ProgramResult;
use crate::failure::{Failure, Missing};
use crate::kernel::Kernel;
use crate::machine::{ConnectionEvent, Renewal, Report};
use crate::program;
use crate::testbed::{Host, Testbed};
use crate::traffic::echo::{Answers, answers_of};
use crate::traffic::receive::{self, REPORTS, Sockets};
use crate::traffic::send::{self, Sending, Sent};
use crate::traffic::tcp::{self, Applications};

/// Broken connections: index of the flow, and the reason.
type Broken = Vec<(usize, String)>;

/// Results of a receiver that answers echoes.
struct Answered {
    slip: Histogram,
    errors: u64,
}

/// Handles of the threads at the ends of the flows.
pub(super) struct Ends<'scope> {
    senders: Vec<ScopedJoinHandle<'scope, Sent>>,
    receivers: Vec<ScopedJoinHandle<'scope, Option<Answered>>>,
    programs: Vec<ScopedJoinHandle<'scope, ProgramResult>>,
    connections: Vec<ScopedJoinHandle<'scope, Result<Broken, Missing>>>,
}

/// Channels between these threads and the driver.
struct Wiring {
    reports: Vec<rtrb::Consumer<Report>>,
    /// Per flow: mailbox of its sender.
    change_senders: Vec<Option<Sender<Renewal>>>,
}

impl<'scope> Ends<'scope> {
    /// Starts all threads; they wait for the start of the run.
    ///
    /// # Errors
    /// If the kernel refuses a socket or a namespace. Threads already started then end.
    pub(super) fn start<'env: 'scope>(
        scope: &'scope Scope<'scope, 'env>,
        testbed: &'env Testbed,
        shared: &'env tcp::Ends<'env>,
        connection_events: Mailbox<ConnectionEvent>,
        kernel: &mut Kernel,
    ) -> Result<Self, Failure> {
        let mut ends = Self {
            senders: Vec::new(),
            receivers: Vec::new(),
            programs: Vec::new(),
            connections: Vec::new(),
        };
        let change_senders = shared.scenario.flows.iter().map(|_| None).collect();
        let mut wiring = Wiring { reports: Vec::new(), change_senders };
        let started = ends.start_all(scope, testbed, shared, &mut wiring);
        if started.is_err() {
            shared.halt.store(true, Ordering::Relaxed);
        }
        started?;
        kernel.join(wiring.reports, wiring.change_senders, connection_events);
        Ok(ends)
    }

    fn start_all<'env: 'scope>(
        &mut self,
        scope: &'scope Scope<'scope, 'env>,
        testbed: &'env Testbed,
        shared: &'env tcp::Ends<'env>,
        wiring: &mut Wiring,
    ) -> Result<(), Failure> {
        let tcp::Ends { scenario, clock, halt, seed, .. } = *shared;
        let mut sources: Vec<_> = build_sources(scenario, seed)?.into_iter().map(Some).collect();
        for host in &testbed.hosts {
            let mut flows = host.namespace.inside(|| sendings(scenario, host, &mut sources))??;
            let sockets = host.namespace.inside(|| sockets(scenario, host, &flows))??;
            self.start_receivers(scope, host.node, sockets, shared, wiring);
            if flows.is_empty() {
                continue;
            }
            let (change_sender, mut changes) = mailbox();
            for sending in &flows {
                wiring.change_senders[sending.flow] = Some(change_sender.clone());
            }
            self.senders.push(scope.spawn(move || send::send(&mut flows, clock, &mut changes, halt)));
        }
        self.start_connections(scope, testbed, shared, wiring)?;
        for host in &testbed.hosts {
            if let Some(command) = &scenario.nodes[host.node].command {
                self.programs.push(scope.spawn(move || program::run(scenario, host, command, clock, halt)));
            }
        }
        Ok(())
    }

    fn start_receivers<'env: 'scope>(
        &mut self,
        scope: &'scope Scope<'scope, 'env>,
        node: usize,
        sockets: Sockets,
        shared: &'env tcp::Ends<'env>,
        wiring: &mut Wiring,
    ) {
        let tcp::Ends { scenario, clock, halt, .. } = *shared;
        for (sockets, answers) in [(sockets.quiet, false), (sockets.answering, true)] {
            if sockets.is_empty() {
                continue;
            }
            let (mut producer, consumer) = rtrb::RingBuffer::new(REPORTS);
            wiring.reports.push(consumer);
            self.receivers.push(scope.spawn(move || {
                let mut answers = answers.then(|| Answers::of(scenario, node, sockets.len()));
                let _ = receive::receive(&sockets, clock, &mut producer, answers.as_mut(), halt);
                answers.map(|answers| Answered { slip: answers.slip, errors: answers.errors })
            }));
        }
    }

    /// Opens all listening sockets, then starts the hosts' applications.
    fn start_connections<'env: 'scope>(
        &mut self,
        scope: &'scope Scope<'scope, 'env>,
        testbed: &'env Testbed,
        shared: &'env tcp::Ends<'env>,
        wiring: &mut Wiring,
    ) -> Result<(), Failure> {
        let scenario = shared.scenario;
        for host in &testbed.hosts {
            let built = host.namespace.inside(|| {
                tcp::tell_namespace(scenario, host.node);
                Applications::open(shared, host.node)
            })??;
            let Some(applications) = built else { continue };
            let (change_sender, mut changes) = mailbox();
            for (index, flow) in scenario.flows.iter().enumerate() {
                if flow.from == host.node && matches!(flow.transport, Transport::Tcp(_)) {
                    wiring.change_senders[index] = Some(change_sender.clone());
                }
            }
            self.connections.push(scope.spawn(move || {
                host.namespace.enter()?;
                Ok(applications.run(&mut changes))
            }));
        }
        Ok(())
    }

    /// Waits until all threads have ended. Returns their results.
    pub(super) fn join(self) -> Result<(Sent, Vec<ProgramResult>), Missing> {
        fn join<T>(thread: ScopedJoinHandle<'_, T>) -> T {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        }
        let mut all = Sent::default();
        for sent in self.senders.into_iter().map(join) {
            all.slip.merge(&sent.slip);
            all.errors += sent.errors;
            all.stretched += sent.stretched;
            all.too_long += sent.too_long;
        }
        for answered in self.receivers.into_iter().filter_map(join) {
            all.slip.merge(&answered.slip);
            all.errors += answered.errors;
        }
        let ran = self.programs.into_iter().map(join).collect();
        let mut broken = BTreeMap::new();
        for connections in self.connections.into_iter().map(join) {
            // Both ends may report a reason. That of the end that opened the connection is more exact.
            for (flow, why) in connections? {
                broken.entry(flow).or_insert(why);
            }
        }
        all.broken = broken.into_iter().collect();
        Ok((all, ran))
    }
}

/// Opens the sockets of the flows that start at a host.
fn sendings(
    scenario: &Scenario,
    host: &Host,
    sources: &mut [Option<Source>],
) -> Result<Vec<Sending>, Missing> {
    let mut flows = Vec::new();
    for (index, flow) in scenario.flows.iter().enumerate() {
        if flow.from == host.node
            && send::is_datagrams(flow)
            && let Some(source) = sources[index].take()
        {
            flows.push(Sending::open(index, flow, source, MTU)?);
        }
    }
    Ok(flows)
}

/// Opens the sockets by which a host receives: those of flows that end there, and those of `flows` whose
/// answers return to the sending socket.
fn sockets(scenario: &Scenario, host: &Host, flows: &[Sending]) -> Result<Sockets, Missing> {
    let mut sockets = receive::open(scenario, host.node)?;
    for sending in flows.iter().filter(|sending| answers_of(scenario, sending.flow).is_some()) {
        let shared = sending.share().and_then(|socket| receive::prepare(&socket).map(|()| socket));
        let failed = |error| {
            let name = &scenario.flows[sending.flow].name;
            Missing::refused(&format!("receive the answers to flow `{name}`"), &error)
        };
        sockets.quiet.push(shared.map_err(failed)?);
    }
    Ok(sockets)
}
