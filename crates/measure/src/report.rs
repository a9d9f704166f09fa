//! Data of the report page: the results of one or more runs, as the JSON that the page reads.
//!
//! All statistics are computed here; the page only draws. Numbers are in base SI units, with six
//! significant digits, and `null` if nothing was observed.

mod answer;
mod bands;
pub mod files;
mod ghost;
pub mod groups;
mod page;
mod port_groups;
mod readable;
pub mod requests;
mod rounding;
mod run;
mod variant_run;
mod variants;
mod worst;

pub use ghost::{Ghost, GhostFlow, GhostQueue};
pub use page::{MARKER, page};
pub use run::{
    BoxPlot, Cdf, Density, EventData, FlowData, FlowSeriesData, PhaseDelay, PortData, QueueData,
    QueueSeriesData, Run, Split, TcpSeriesData,
};
pub use variant_run::{Shown, VariantRun};
pub use variants::{Front, Standing, Variable, VariantData, VariantMetric, VariantValues, Variants, fronts};
pub use worst::{Block, Served, Stay, WorstPacket};

use serde::Serialize;

use crate::metric::{METRICS, Unit};

/// Version of the document's format.
pub const SCHEMA: u32 = 2;

/// All data of one page.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct ReportData {
    /// Version of the document's format.
    pub schema: u32,
    /// Lockgate's version.
    pub version: String,
    /// Time of generation, RFC 3339 in UTC; set by the caller.
    pub generated: String,
    /// The page's title.
    pub title: String,
    /// Sentences at the top of the page; may be empty.
    pub verdict: Vec<String>,
    /// Command that reproduces the report.
    pub command: String,
    /// The scenario as text.
    pub scenario: String,
    /// Hash of the scenario, in hexadecimal digits.
    pub scenario_hash: String,
    /// The machine it ran on.
    pub host: String,
    /// Nodes and links.
    pub topology: Topology,
    /// Definition of each metric.
    pub definitions: Vec<Definition>,
    /// Runs, one per configuration or mode; overlaid in one figure.
    pub runs: Vec<Run>,
    /// Tables that compare runs.
    pub comparisons: Vec<Comparison>,
    /// Further figures.
    pub figures: Vec<Figure>,
    /// Card of the run, an SVG document to share; empty if there is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub card: String,
    /// Variants that are compared; then each of `runs` is one of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variants: Option<Variants>,
}

impl ReportData {
    /// Creates an empty report with this title and every metric's definition.
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
            card: String::new(),
            variants: None,
        }
    }
}

/// Topology of the network.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Topology {
    /// The nodes.
    pub nodes: Vec<TopologyNode>,
    /// The links.
    pub links: Vec<TopologyLink>,
}

/// A node on the picture.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct TopologyNode {
    /// Name.
    pub name: String,
    /// Horizontal position, 0 left to 1 right; if absent, the page chooses it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub x: Option<f64>,
    /// Vertical position, 0 top to 1 bottom.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub y: Option<f64>,
    /// True if it forwards packets.
    pub router: bool,
}

/// A link on the picture.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct TopologyLink {
    /// Name.
    pub name: String,
    /// The node at one end.
    pub from: String,
    /// The node at the other end.
    pub to: String,
    /// Rates in bits per second, `from` to `to` and back, the means of traces; `null` if the members of a
    /// group differ.
    pub rate_bps: [Option<f64>; 2],
    /// Propagation delays in seconds, `from` to `to` and back; `null` if the members of a group differ.
    pub delay_s: [Option<f64>; 2],
}

/// Definition of a metric.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Definition {
    /// The metric's name.
    pub name: &'static str,
    /// Kind of object that it describes: `run`, `flow`, `group`, `port` or `queue`.
    pub about: crate::metric::SubjectKind,
    /// Definition.
    pub text: &'static str,
    /// Source of the definition; may be empty.
    pub source: &'static str,
    /// Unit.
    pub unit: &'static str,
}

/// Returns every metric's definition.
pub fn definitions() -> Vec<Definition> {
    let definition = |metric: &crate::metric::Metric| Definition {
        name: metric.name,
        about: metric.about(),
        text: metric.definition,
        source: metric.source,
        unit: metric.unit.symbol(),
    };
    METRICS.iter().map(definition).collect()
}

/// A table.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Comparison {
    /// Title.
    pub title: String,
    /// Heads of its columns.
    pub columns: Vec<String>,
    /// Address of the metric or path of the setting in each column, empty for another; none if no column has
    /// one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<String>,
    /// Rows; one cell per column.
    pub rows: Vec<Vec<Cell>>,
    /// Note below it; may be empty.
    pub note: String,
}

/// A cell of a table.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(untagged)]
pub enum Cell {
    /// A number; serialised as `null` if it is not finite.
    Number(f64),
    /// A value with its unit.
    Quantity(Quantity),
    /// Text.
    Text(String),
    /// An empty cell.
    Empty,
}

impl Cell {
    /// Returns the cell of a value in this unit, with six significant digits; empty without a value.
    pub fn quantity(value: Option<f64>, unit: Unit) -> Self {
        value.map_or(Self::Empty, |value| Self::Quantity(Quantity { value: rounding::short(value), unit }))
    }
}

/// A value with its unit, formatted by the reader.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Quantity {
    /// Value in the base unit; serialised as `null` if it is not finite.
    #[cfg_attr(feature = "typescript", ts(as = "Option<f64>"))]
    pub value: f64,
    /// Unit.
    pub unit: Unit,
}

/// A figure of curves or points.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Figure {
    /// Identifier in the document.
    pub id: String,
    /// Title.
    pub title: String,
    /// Text below it.
    pub caption: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// Style of drawing.
    pub kind: FigureKind,
    /// Curves.
    pub series: Vec<FigureSeries>,
}

/// An axis of a figure.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Axis {
    /// Quantity on the axis.
    pub label: String,
    /// Unit; may be empty.
    pub unit: String,
    /// True if it is logarithmic.
    pub log: bool,
}

/// The style of a figure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "lowercase")]
pub enum FigureKind {
    /// Lines.
    #[default]
    Line,
    /// Points.
    Scatter,
    /// Bars.
    Bar,
    /// Worst members of a group over time, a series each.
    Map,
    /// Percentiles over the members of groups over time.
    Bands,
}

/// One curve of a figure.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct FigureSeries {
    /// Name.
    pub name: String,
    /// Origin.
    pub mode: Origin,
    /// Horizontal positions; serialised as `null` if not finite.
    #[cfg_attr(feature = "typescript", ts(as = "Vec<Option<f64>>"))]
    pub x: Vec<f64>,
    /// Vertical positions, one for each of `x`; serialised as `null` if not finite: a gap.
    #[cfg_attr(feature = "typescript", ts(as = "Vec<Option<f64>>"))]
    pub y: Vec<f64>,
    /// Half widths of confidence intervals around `y`, where known; serialised as `null` if not finite.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(as = "Option<Vec<Option<f64>>>"))]
    pub error: Option<Vec<f64>>,
    /// Texts at the points, one for each of `x`; none: without.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// Bound that the series draws, if it is one: its name then says whose it is, and its points are the ends
    /// of a line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<FigureBound>,
}

/// Bound on the values of one axis of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct FigureBound {
    /// True if it is on the horizontal axis.
    pub is_of_x: bool,
    /// True if smaller values miss it; false if larger ones do.
    pub is_lower: bool,
    /// The bound, in the unit of its axis.
    pub value: f64,
}

/// The origin of a curve, which determines its style.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
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
