//! Kinds of disciplines by name: their declarations, and nodes of them from parameters as text.

use core::ops::Deref;
use std::collections::BTreeMap;
use std::sync::OnceLock;

use lockgate_engine::class;
use lockgate_engine::discipline::{Child, Context, Discipline, Invalid};
use lockgate_engine::disciplines::{self, KINDS, Visitor};
use lockgate_engine::node::Node;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::fickle::Fickle;

/// A kind of the registry or of the tests, with its examples and schemas as values. Its facts are fields of
/// its own.
pub struct Kind {
    facts: disciplines::Kind,
    /// `example`, and its text.
    pub example: Value,
    pub example_text: &'static str,
    /// `share_example`.
    pub share: Value,
    /// JSON schemas of `Config` and `Share`.
    pub config_schema: Value,
    pub share_schema: Value,
}

impl Deref for Kind {
    type Target = disciplines::Kind;
    fn deref(&self) -> &disciplines::Kind {
        &self.facts
    }
}

/// Reason of a refusal of parameters: by the reader, or by the discipline.
#[derive(Debug, Clone, PartialEq)]
pub enum Refusal {
    Text(String),
    Invalid(Invalid),
}

/// Returns whether `kind` is that of an inner class, which has no discipline of its own.
pub fn is_class(kind: &str) -> bool {
    kind == class::KIND
}

/// Applies a visitor to the discipline called `name`, of the registry or of the tests.
fn visit<V: Visitor>(name: &str, visitor: V) -> V::Output {
    if name == Fickle::ABOUT.name {
        return visitor.visit::<Fickle>();
    }
    disciplines::visit(name, visitor).unwrap_or_else(|| panic!("no kind `{name}`"))
}

/// Returns the declarations of the kind called `name`.
pub fn kind(name: &str) -> &'static Kind {
    static ALL: OnceLock<BTreeMap<&'static str, Kind>> = OnceLock::new();
    let all = ALL.get_or_init(|| {
        let kinds = disciplines::ALL
            .iter()
            .copied()
            .chain([disciplines::Kind::of::<Fickle>(disciplines::Family::Fifo)]);
        kinds.map(|kind| (kind.name, declared(kind))).collect()
    });
    all.get(name).unwrap_or_else(|| panic!("no kind `{name}`"))
}

fn declared(kind: disciplines::Kind) -> Kind {
    Kind {
        facts: kind,
        example: toml::from_str(kind.example).expect("the example is TOML"),
        example_text: kind.example,
        share: toml::from_str(kind.share_example).expect("the example of a share is TOML"),
        config_schema: (kind.config)().to_value(),
        share_schema: (kind.share)().to_value(),
    }
}

/// Returns the declarations of all kinds of the registry.
pub fn kinds() -> Vec<&'static Kind> {
    KINDS.iter().map(|name| kind(name)).collect()
}

fn read<T: DeserializeOwned>(value: &Value) -> Result<T, Refusal> {
    serde_json::from_value(value.clone()).map_err(|error| Refusal::Text(error.to_string()))
}

fn children_of<Share: DeserializeOwned>(children: Vec<(Value, Node)>) -> Result<Vec<Child<Share>>, Refusal> {
    children.into_iter().map(|(share, node)| Ok(Child { share: read(&share)?, node })).collect()
}

/// Creates an inner class called `name` with these children, for the kind `owner`.
pub fn build_class(owner: &str, name: &str, children: Vec<(Value, Node)>) -> Result<Node, Refusal> {
    struct Build<'a>(&'a str, Vec<(Value, Node)>);
    impl Visitor for Build<'_> {
        type Output = Result<Node, Refusal>;
        fn visit<D: Discipline>(self) -> Self::Output {
            Node::class::<D::Share>(self.0, children_of(self.1)?).map_err(Refusal::Invalid)
        }
    }
    visit(owner, Build(name, children))
}

/// Creates a node called `name` of this kind with these children and their shares.
pub fn build(kind: &str, name: &str, config: &Value, children: Vec<(Value, Node)>) -> Result<Node, Refusal> {
    struct Build<'a>(&'a str, &'a Value, Vec<(Value, Node)>);
    impl Visitor for Build<'_> {
        type Output = Result<Node, Refusal>;
        fn visit<D: Discipline>(self) -> Self::Output {
            let Self(name, config, children) = self;
            Node::new::<D>(name, read(config)?, children_of(children)?).map_err(Refusal::Invalid)
        }
    }
    visit(kind, Build(name, config, children))
}

/// Changes the parameters of `node` and the shares of its children.
pub fn reconfigure(
    node: &mut Node,
    config: &Value,
    shares: &[Value],
    cx: &mut Context<'_>,
) -> Result<(), Refusal> {
    struct Reconfigure<'a, 'b>(&'a mut Node, &'a Value, &'a [Value], &'a mut Context<'b>);
    impl Visitor for Reconfigure<'_, '_> {
        type Output = Result<(), Refusal>;
        fn visit<D: Discipline>(self) -> Self::Output {
            let Self(node, config, shares, cx) = self;
            let shares = shares.iter().map(read).collect::<Result<_, Refusal>>()?;
            node.reconfigure::<D>(read(config)?, shares, cx).map_err(Refusal::Invalid)
        }
    }
    let kind = node.kind();
    visit(kind, Reconfigure(node, config, shares, cx))
}

/// Reads and writes `config` by way of JSON and of TOML.
pub fn round_trip(kind: &str, config: &Value) -> Result<[Value; 2], Refusal> {
    struct RoundTrip<'a>(&'a Value);
    impl Visitor for RoundTrip<'_> {
        type Output = Result<[Value; 2], Refusal>;
        fn visit<D: Discipline>(self) -> Self::Output {
            let config: D::Config = read(self.0)?;
            let json = serde_json::to_string(&config).expect("a config is written as JSON");
            let toml = toml::to_string(&config).expect("a config is written as TOML");
            let from_toml: D::Config = toml::from_str(&toml).expect("what is written is read back");
            let values = [
                serde_json::from_str(&json).expect("JSON"),
                serde_json::to_value(from_toml).expect("a config is a value"),
            ];
            Ok(values)
        }
    }
    visit(kind, RoundTrip(config))
}
