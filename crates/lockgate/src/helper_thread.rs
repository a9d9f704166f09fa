//! A thread that advances half of a network while the thread of the run advances the other.

use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread;
use std::time::{Duration, Instant as RealTime};

use lockgate_engine::random::Seed;
use lockgate_engine::units::Instant;
use lockgate_scenario::Scenario;
use lockgate_sim::{Control, Failure, Half, Outcome, Worker, run_side_by_side};

use crate::cost::thread_cpu_s;

/// The run's end of the two channels.
struct HelperThread {
    halves: Sender<Half>,
    advanced: Receiver<Half>,
}

/// The helper ends before its channels only by a panic, which its thread has reported.
const HELPER_ENDED: &str = "the thread that advances half of the network has panicked";

impl Worker for HelperThread {
    fn start(&mut self, half: Half) {
        self.halves.send(half).expect(HELPER_ENDED);
    }

    fn wait(&mut self) -> Half {
        receive(&self.advanced).expect(HELPER_ENDED)
    }
}

/// Time that a thread waits for a half without sleeping: to wake a processor of a virtual machine takes as
/// long, and a window some 0.5 ms. Chosen by measurement (decision 125).
const SPIN: Duration = Duration::from_micros(100);

/// Returns the next half; `None` if there is no sender any more.
fn receive(halves: &Receiver<Half>) -> Option<Half> {
    let begin = RealTime::now();
    while begin.elapsed() < SPIN {
        match halves.try_recv() {
            Ok(half) => return Some(half),
            Err(TryRecvError::Disconnected) => return None,
            Err(TryRecvError::Empty) => std::hint::spin_loop(),
        }
    }
    halves.recv().ok()
}

/// Simulates a run that [can be split](lockgate_sim::can_split) on this thread and another, which has ended
/// afterwards: a process with several threads cannot enter a user namespace. Returns the processor time of
/// the other thread in seconds as well.
pub(crate) fn run_on_two_threads(
    scenario: &Scenario,
    seed: Seed,
    watch: &mut dyn FnMut(Instant) -> Control,
) -> (Result<Outcome, Failure>, f64) {
    let (halves, to_advance) = channel::<Half>();
    let (to_return, advanced) = channel();
    let advance_all = move || {
        while let Some(mut half) = receive(&to_advance) {
            half.advance();
            if to_return.send(half).is_err() {
                break;
            }
        }
        thread_cpu_s()
    };
    thread::scope(|scope| {
        let Ok(thread) = thread::Builder::new().name("half".to_owned()).spawn_scoped(scope, advance_all)
        else {
            // No thread can be started here.
            return (lockgate_sim::run(scenario, seed, watch), 0.0);
        };
        let mut helper = HelperThread { halves, advanced };
        let outcome = run_side_by_side(scenario, seed, &mut helper, watch);
        drop(helper);
        (outcome, thread.join().unwrap_or(0.0))
    })
}
