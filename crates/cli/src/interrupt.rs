//! Signals that end a run. Ctrl-C or SIGTERM once: stop early and still write the results; twice: abort.
//! Where nothing can stop early, as while a large scenario is read, once is enough.
//! SIGHUP (a terminal that hung up, often sent twice): stop early, and never abort; a router reads its policy
//! again.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Condvar, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use crate::exit::Exit;
use crate::output::tell;

/// Function that takes each event for a log.
type Log = Box<dyn Fn(&str) + Send + Sync>;

static REQUESTED: AtomicBool = AtomicBool::new(false);
/// True if the process is a router: SIGHUP asks it to reload. Whether it has.
static IS_ROUTER: AtomicBool = AtomicBool::new(false);
static RELOAD: AtomicBool = AtomicBool::new(false);
/// Log of the router, once it has a name.
static LOG: OnceLock<Log> = OnceLock::new();
/// True if the process shows what runs without it: a signal ends the view.
static IS_VIEW: AtomicBool = AtomicBool::new(false);
/// Wakes a thread in [`wait`].
static SIGNALLED: (Mutex<()>, Condvar) = (Mutex::new(()), Condvar::new());
/// True once something that can stop early has seen the request.
static SEEN: AtomicBool = AtomicBool::new(false);
/// Time for that, after which the process is ended.
const UNSEEN: Duration = Duration::from_millis(1_500);
static PRESSED: AtomicU8 = AtomicU8::new(0);
/// True once the run has ended and its results are written.
static ENDED: AtomicBool = AtomicBool::new(false);

/// Installs the handler.
#[cfg(unix)]
pub(crate) fn listen() {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let mut signals = vec![SIGINT, SIGTERM];
    if !is_hang_up_ignored() {
        signals.push(SIGHUP);
    }
    // Without a handler a signal ends the process at once; it leaves no partial file under a final name.
    let Ok(mut signals) = signal_hook::iterator::Signals::new(signals) else { return };
    let serve = move || {
        for signal in signals.forever() {
            match signal {
                SIGHUP if IS_ROUTER.load(Ordering::SeqCst) => RELOAD.store(true, Ordering::SeqCst),
                SIGHUP => request(),
                _ => on_key(),
            }
            let _guard = SIGNALLED.0.lock().unwrap_or_else(PoisonError::into_inner);
            SIGNALLED.1.notify_all();
        }
    };
    let _ = std::thread::Builder::new().name("signals".to_owned()).spawn(serve);
}

/// True if SIGHUP was ignored at the start, as `nohup` arranges it.
#[cfg(unix)]
fn is_hang_up_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & (1 << (signal_hook::consts::SIGHUP - 1)) != 0)
}

/// Does nothing on this platform.
#[cfg(not(unix))]
pub(crate) fn listen() {
    let _ = ctrlc::set_handler(on_key);
}

fn on_key() {
    request();
    if ENDED.load(Ordering::SeqCst) {
        return;
    }
    if PRESSED.fetch_add(1, Ordering::SeqCst) == 0 {
        if IS_ROUTER.load(Ordering::SeqCst) {
            const ENDING: &str = "ending: the queues are drained, then the kernel has the interfaces; press Ctrl-C again to \
                                  end at once";
            match LOG.get() {
                Some(log) => log(ENDING),
                None => tell!("\n{ENDING}"),
            }
        } else if IS_VIEW.load(Ordering::SeqCst) {
            tell!("\nending the view; the queues stay as they are");
        } else {
            tell!("\nstopping early; press Ctrl-C again to abort without results");
            let _ = std::thread::Builder::new().name("unseen".to_owned()).spawn(end_unseen);
        }
    } else {
        abort();
    }
}

/// Ends the process unless something has seen the request.
fn end_unseen() {
    std::thread::sleep(UNSEEN);
    if !SEEN.load(Ordering::SeqCst) && !ENDED.load(Ordering::SeqCst) {
        abort();
    }
}

fn abort() {
    lockgate::results::remove_unfinished();
    std::process::exit(Exit::Interrupted as i32);
}

/// Requests the run to stop.
fn request() {
    REQUESTED.store(true, Ordering::SeqCst);
}

/// Says that the process is a router: SIGHUP asks it to reload, instead of ending it.
pub(crate) fn serve_router() {
    IS_ROUTER.store(true, Ordering::SeqCst);
}

/// Has what a signal to the router does written to its log.
pub(crate) fn log_by(log: impl Fn(&str) + Send + Sync + 'static) {
    let _ = LOG.set(Box::new(log));
}

/// Says that the process only shows what runs without it.
pub(crate) fn serve_view() {
    IS_VIEW.store(true, Ordering::SeqCst);
}

/// True once for each request to reload.
pub(crate) fn is_reload_requested() -> bool {
    RELOAD.swap(false, Ordering::SeqCst)
}

/// Waits for a signal, `longest` at most.
pub(crate) fn wait(longest: Duration) {
    let guard = SIGNALLED.0.lock().unwrap_or_else(PoisonError::into_inner);
    if !is_requested() && !RELOAD.load(Ordering::SeqCst) {
        let _guard = SIGNALLED.1.wait_timeout(guard, longest).unwrap_or_else(PoisonError::into_inner);
    }
}

/// Returns the flag that is set when the run should stop.
pub(crate) fn flag() -> &'static AtomicBool {
    // Its holder looks at it often.
    SEEN.store(true, Ordering::SeqCst);
    &REQUESTED
}

/// True if the run should stop.
pub(crate) fn is_requested() -> bool {
    let is_requested = REQUESTED.load(Ordering::SeqCst);
    if is_requested {
        SEEN.store(true, Ordering::SeqCst);
    }
    is_requested
}

/// Marks the run as ended and its results as written: a signal from now on is the normal end of the command.
pub(crate) fn on_ended() {
    ENDED.store(true, Ordering::SeqCst);
}
