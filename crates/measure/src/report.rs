//! What the page shows: the statements of one or more runs, as the JSON the page reads.
//!
//! All statistics are made here; the page only draws. Numbers are in base SI units, at six significant
//! digits, and `null` where nothing was observed.

pub mod files;
mod page;
mod run;

pub use page::{MARKER, page};
pub use run::{
    BoxPlot, Cdf, Density, EventData, FlowData, FlowSeriesData, PortData, QueueData, QueueSeriesData, Run,
    Split, TcpSeriesData,
};

use serde::Serialize;

use crate::metric::METRICS;

/// Version of the document's form.
pub const SCHEMA: u32 = 1;

/// Everything on one page.
#[derive(Clone, Debug, Serialize)]
pub struct ReportData {
    /// Version of this document's form.
    pub schema: u32,
    /// Lockgate's version.
    pub version: String,
    /// When it was made, RFC 3339 in UTC; the caller knows the time.
    pub generated: String,
    /// The page's title.
    pub title: String,
    /// Sentences for the top; may be empty.
    pub verdict: Vec<String>,
    /// The command that repeats it.
    pub command: String,
    /// The scenario as text.
    pub scenario: String,
    /// Hash of it, in hexadecimal digits.
    pub scenario_hash: String,
    /// The machine it ran on.
    pub host: String,
    /// Nodes and links.
    pub topology: Topology,
    /// What each metric means.
    pub definitions: Vec<Definition>,
    /// One a configuration or mode; overlaid in one figure.
    pub runs: Vec<Run>,
    /// Tables that compare runs.
    pub comparisons: Vec<Comparison>,
    /// Further figures.
    pub figures: Vec<Figure>,
}

impl ReportData {
    /// An empty report of this title, with every metric's definition.
    pub fn new(title: &str) -> Self {
        Self {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION").into(),
            generated: String::new(),
            title: title.into(),
            verdict: Vec::new(),
            command: String::new(),
            scenario: String::new(),
            scenario_hash: String::new(),
            host: String::new(),
            topology: Topology::default(),
            definitions: definitions(),
            runs: Vec::new(),
            comparisons: Vec::new(),
            figures: Vec::new(),
        }
    }
}

/// Where packets went.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Topology {
    /// The nodes.
    pub nodes: Vec<TopologyNode>,
    /// The links.
    pub links: Vec<TopologyLink>,
}

/// A node on the picture.
#[derive(Clone, Debug, Default, Serialize)]
pub struct TopologyNode {
    /// Its name.
    pub name: String,
    /// Where it stands, 0 left to 1 right; the page decides where it is not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub x: Option<f64>,
    /// Where it stands, 0 top to 1 bottom.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub y: Option<f64>,
    /// Whether it forwards.
    pub router: bool,
}

/// A link on the picture.
#[derive(Clone, Debug, Default, Serialize)]
pub struct TopologyLink {
    /// Its name.
    pub name: String,
    /// The node at one end.
    pub from: String,
    /// The node at the other.
    pub to: String,
    /// Its rate in bits per second; `None` for one that follows a trace.
    pub rate_bps: Option<f64>,
    /// Its propagation delay in seconds.
    pub delay_s: f64,
}

/// What a metric means.
#[derive(Clone, Debug, Serialize)]
pub struct Definition {
    /// The metric's name.
    pub name: &'static str,
    /// What it is about: `run`, `flow`, `port` or `queue`.
    pub about: crate::metric::About,
    /// What it means.
    pub text: &'static str,
    /// Where that is defined; may be empty.
    pub source: &'static str,
    /// Its unit.
    pub unit: &'static str,
}

/// Every metric's definition.
pub fn definitions() -> Vec<Definition> {
    let definition = |metric: &crate::metric::Metric| Definition {
        name: metric.name,
        about: metric.about,
        text: metric.definition,
        source: metric.source,
        unit: metric.unit.symbol(),
    };
    METRICS.iter().map(definition).collect()
}

/// A table.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Comparison {
    /// Its title.
    pub title: String,
    /// Heads of its columns.
    pub columns: Vec<String>,
    /// Its rows; one cell a column.
    pub rows: Vec<Vec<Cell>>,
    /// A sentence below it; may be empty.
    pub note: String,
}

/// A cell of a table.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Cell {
    /// A number; `null` where it is not finite.
    Number(f64),
    /// Words.
    Text(String),
    /// Nothing.
    Empty,
}

/// A figure of curves or points.
#[derive(Clone, Debug, Serialize)]
pub struct Figure {
    /// Its name in the document.
    pub id: String,
    /// Its title.
    pub title: String,
    /// A sentence below it.
    pub caption: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// How it is drawn.
    pub kind: FigureKind,
    /// What is drawn.
    pub series: Vec<FigureSeries>,
}

/// An axis of a figure.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Axis {
    /// What is on it.
    pub label: String,
    /// Its unit; may be empty.
    pub unit: String,
    /// Whether it is logarithmic.
    pub log: bool,
}

/// How a figure is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FigureKind {
    /// Lines.
    #[default]
    Line,
    /// Points.
    Scatter,
    /// Bars.
    Bar,
}

/// One curve of a figure.
#[derive(Clone, Debug, Serialize)]
pub struct FigureSeries {
    /// Its name.
    pub name: String,
    /// Where it comes from.
    pub mode: Origin,
    /// Horizontal places.
    pub x: Vec<f64>,
    /// Vertical places, one for each of `x`.
    pub y: Vec<f64>,
    /// Half widths of confidence intervals around `y`, where known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Vec<f64>>,
}

/// Where a curve comes from, and so how it is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// A simulation: dashed.
    #[default]
    Sim,
    /// Real packets: solid.
    Live,
    /// A formula: dotted.
    Theory,
    /// Values printed in a paper.
    Paper,
}

impl From<crate::recording::Mode> for Origin {
    fn from(mode: crate::recording::Mode) -> Self {
        match mode {
            crate::recording::Mode::Sim => Self::Sim,
            crate::recording::Mode::Live => Self::Live,
        }
    }
}

#[cfg(test)]
mod tests;
