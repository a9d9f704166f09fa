//! The simulator as a WebAssembly module: a page's worker passes text, and gets JSON.
//!
//! ```text
//! request: [length of the head, u32][head: JSON][contents of the files, one behind the other]
//! answer:  [length of the head, u32][head: JSON][parts: documents, one behind the other]
//!
//! alloc(n) -> p; write the request at p; check(p, n) -> (q, m); read the answer at q; free(q, m)
//! ```
//!
//! Every call has this form (`exports.rs`); numbers are little-endian. The head of an answer is an
//! [`Answer`]: a value, or what is wrong. A function has a file beside this one:
//!
//! | export | request | value |
//! | --- | --- | --- |
//! | `check` | [`ScenarioRequest`] | [`Checked`] |
//! | `run` | [`RunRequest`] | [`Ran`], with summary and report |
//! | `compare` | [`CompareRequest`] | [`ComparedVariants`], with report and documents |
//! | `begin` | [`JobRequest`]: runs or a comparison in steps | [`Begun`] |
//! | `step` | [`StepRequest`] | [`JobProgress`] |
//! | `result` | [`JobNumber`] | [`Ran`], while other runs tell the effects of changes |
//! | `finish`, `cancel` | [`JobNumber`] | that of `run` or `compare`; none |
//! | `import` | [`ImportRequest`] | [`Imported`] |
//! | `complete` | [`CompleteRequest`] | [`Completions`] |
//! | `knobs` | [`ScenarioRequest`] | [`Sliders`] |
//! | `schema` | [`SchemaRequest`] | none, with the JSON Schema |
//! | `decisions` | [`DecisionsRequest`]: steps of a port | [`Decisions`] |
//!
//! Pure: no thread, no clock, no file. The same request gives the same bytes as the command on any machine. A
//! panic ends the instance by a trap; `panic_text` then returns its message.

mod answer;
mod budget;
mod check;
mod compare;
mod complete;
mod decisions;
mod effects;
#[cfg(target_arch = "wasm32")]
mod exports;
mod import;
mod jobs;
mod knobs;
mod message;
pub mod panic;
mod run;
mod scenario;
mod schema;

pub use answer::{Answer, ProblemData, RelatedPlace, Wrong};
pub use check::{Checked, ScenarioSize, check};
pub use compare::{CompareRequest, ComparedVariants, compare};
pub use complete::{Candidate, CompleteRequest, Completions, complete};
pub use decisions::{Decisions, DecisionsRequest, decisions};
pub use import::{ImportRequest, Imported, import};
pub use jobs::{Begun, JobNumber, JobProgress, JobRequest, StepRequest, begin, cancel, finish, result, step};
pub use knobs::{Slider, Sliders, knobs};
pub use message::{Message, answer};
pub use run::{Ran, RunRequest, run};
pub use scenario::ScenarioRequest;
pub use schema::{SchemaRequest, schema};
