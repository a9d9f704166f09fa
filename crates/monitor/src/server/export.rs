//! Exports of a sample to other programs: one text for all readers of it, made on a thread of its own.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Bytes;
use lockgate_measure::monitor::Sample;
use tokio::sync::Mutex;

use super::answer::{LONG, shared};

/// Time for which a long text is not made again for a newer sample.
const KEPT_TIME: Duration = Duration::from_secs(2);

/// An export, with the text of the latest sample that was read.
pub(super) struct Export {
    make: fn(Option<&Sample>) -> String,
    latest: Mutex<Option<Made>>,
}

struct Made {
    sample: Option<Arc<Sample>>,
    text: Bytes,
    at: Instant,
}

impl Export {
    pub(super) fn new(make: fn(Option<&Sample>) -> String) -> Arc<Self> {
        Arc::new(Self { make, latest: Mutex::new(None) })
    }

    /// Returns the text of `sample`, or a long one of an earlier sample that is hardly older; `None` if
    /// readers hold too much already.
    pub(super) async fn text(&self, sample: Option<Arc<Sample>>) -> Option<Bytes> {
        // Held while a text is made: other readers of it wait, and other answers do not.
        let mut latest = self.latest.lock().await;
        if let Some(made) = &*latest {
            let is_same = made.sample.as_ref().map(Arc::as_ptr) == sample.as_ref().map(Arc::as_ptr);
            if is_same || (made.text.len() >= LONG && made.at.elapsed() < KEPT_TIME) {
                return Some(made.text.clone());
            }
        }
        // Frees the text before, unless a reader holds it.
        *latest = None;
        let (make, of) = (self.make, sample.clone());
        let text = tokio::task::spawn_blocking(move || make(of.as_deref())).await.ok()?;
        let text = shared(text)?;
        *latest = Some(Made { sample, text: text.clone(), at: Instant::now() });
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    static MADE: AtomicU32 = AtomicU32::new(0);

    fn make(sample: Option<&Sample>) -> String {
        MADE.fetch_add(1, Ordering::Relaxed);
        let letters = if sample.is_some_and(|sample| sample.at_s > 5.0) { LONG } else { 1 };
        "x".repeat(letters)
    }

    #[test]
    fn the_readers_of_a_sample_share_its_text() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(async {
            let export = Export::new(make);
            let sample = |at_s| Some(Arc::new(Sample { at_s, ..Sample::default() }));
            let (first, second, long) = (sample(1.0), sample(2.0), sample(9.0));
            let texts = [export.text(first.clone()).await, export.text(first).await].map(Option::unwrap);
            assert_eq!(texts[0].as_ptr(), texts[1].as_ptr());
            let _ = export.text(second).await;
            assert_eq!(MADE.load(Ordering::Relaxed), 2, "a short text is made for each sample");
            let texts = [export.text(long).await, export.text(sample(10.0)).await].map(Option::unwrap);
            assert_eq!(texts[0].as_ptr(), texts[1].as_ptr(), "a long one is not");
        });
    }
}
