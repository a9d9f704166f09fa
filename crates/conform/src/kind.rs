//! Kinds of disciplines by name: their declarations, and construction of nodes.

use core::ops::Deref;

use lockgate_engine::discipline::{Child, Context, Discipline, Invalid};
use lockgate_engine::disciplines::{self, Visitor};
use lockgate_engine::node::Node;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// A kind of the registry, with its examples as values. Its facts are fields of its own ([`About`]).
///
/// [`About`]: lockgate_engine::discipline::About
#[derive(Clone, Debug)]
pub struct Kind {
    facts: disciplines::Kind,
    /// Parameters of the discipline itself, as an example to start from.
    pub example: Value,
    /// Example of a child's share.
    pub share: Value,
}

impl Deref for Kind {
    type Target = disciplines::Kind;
    fn deref(&self) -> &disciplines::Kind {
        &self.facts
    }
}

impl Kind {
    /// Returns the kind called `name`, if there is one.
    pub fn named(name: &str) -> Option<Self> {
        disciplines::Kind::named(name).map(Self::of)
    }

    /// Returns every kind of the list.
    pub fn all() -> Vec<Self> {
        disciplines::ALL.iter().copied().map(Self::of).collect()
    }

    fn of(kind: disciplines::Kind) -> Self {
        let parsed = |text: &str| toml::from_str(text).unwrap_or_else(|_| json!({}));
        Self { facts: kind, example: parsed(kind.example), share: parsed(kind.share_example) }
    }

    /// Returns true if its name is one of these.
    pub fn is(&self, names: &[&str]) -> bool {
        names.contains(&self.name)
    }
}

/// Refusal of a kind, or of its parameters.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refusal {
    /// No kind has this name.
    #[error("there is no kind `{0}`")]
    Unknown(String),
    /// A value has the wrong form.
    #[error(transparent)]
    Malformed(#[from] serde_json::Error),
    /// The discipline refuses a value.
    #[error(transparent)]
    Invalid(#[from] Invalid),
}

fn read<T: DeserializeOwned>(value: &Value) -> Result<T, Refusal> {
    Ok(serde_json::from_value(value.clone())?)
}

fn children_of<Share: DeserializeOwned>(children: Vec<(Value, Node)>) -> Result<Vec<Child<Share>>, Refusal> {
    children.into_iter().map(|(share, node)| Ok(Child { share: read(&share)?, node })).collect()
}

/// Creates an inner class called `name` over these children, for a parent of the kind `owner`.
///
/// # Panics
/// Panics if a share is refused: the oracle and the discipline disagree on what is valid.
pub(crate) fn build_class(owner: &str, name: &str, children: Vec<(Value, Node)>) -> Node {
    struct Build<'a>(&'a str, Vec<(Value, Node)>);
    impl Visitor for Build<'_> {
        type Output = Result<Node, Refusal>;
        fn visit<D: Discipline>(self) -> Self::Output {
            Ok(Node::class::<D::Share>(self.0, children_of(self.1)?)?)
        }
    }
    let built = disciplines::visit(owner, Build(name, children));
    accepted(owner, built)
}

/// Creates a node called `name` of this kind over these children, each with its share, with parameters chosen
/// by an oracle.
///
/// # Panics
/// Panics if they are refused: the oracle and the discipline disagree on what is valid.
pub(crate) fn build(kind: &str, name: &str, config: &Value, children: Vec<(Value, Node)>) -> Node {
    struct Build<'a>(&'a str, &'a Value, Vec<(Value, Node)>);
    impl Visitor for Build<'_> {
        type Output = Result<Node, Refusal>;
        fn visit<D: Discipline>(self) -> Self::Output {
            let Self(name, config, children) = self;
            Ok(Node::new::<D>(name, read(config)?, children_of(children)?)?)
        }
    }
    let built = disciplines::visit(kind, Build(name, config, children));
    accepted(kind, built)
}

/// Returns the node that the registry has built, which it must not refuse.
fn accepted(kind: &str, built: Option<Result<Node, Refusal>>) -> Node {
    built
        .unwrap_or_else(|| Err(Refusal::Unknown(kind.to_owned())))
        .unwrap_or_else(|why| panic!("`{kind}` refuses what its oracle asks for: {why}"))
}

/// Sets new parameters of `node`, and new shares of its children.
///
/// # Errors
/// Returns why they are refused.
pub(crate) fn reconfigure(
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
            Ok(node.reconfigure::<D>(read(config)?, shares, cx)?)
        }
    }
    let kind = node.kind();
    let done = disciplines::visit(kind, Reconfigure(node, config, shares, cx));
    done.unwrap_or_else(|| Err(Refusal::Unknown(kind.to_owned())))
}
