//! Kinds of disciplines by name: their declarations, and construction of nodes.

use lockgate_engine::discipline::{Arity, Child, Context, Discipline};
use lockgate_engine::disciplines::{self, KINDS, Visitor};
use lockgate_engine::node::Node;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Declarations of a kind that oracles use.
#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is a declaration of its own")]
pub struct Kind {
    /// Name.
    pub name: &'static str,
    /// Number of children.
    pub children: Arity,
    /// True if it always sends while it holds a packet.
    pub work_conserving: bool,
    /// True if it may reorder a flow.
    pub reorders: bool,
    /// True if it may drop before it is full.
    pub drops_early: bool,
    /// True if it decides itself which child a packet goes to.
    pub classifies: bool,
    /// Parameters of the discipline itself, as an example to start from.
    pub example: Value,
    /// Example of a child's share.
    pub share: Value,
}

impl Kind {
    /// Returns the kind called `name`, if there is one.
    pub fn named(name: &str) -> Option<Self> {
        disciplines::visit(name, Declared)
    }

    /// Returns every kind of the list.
    pub fn all() -> Vec<Self> {
        KINDS.iter().filter_map(|name| Self::named(name)).collect()
    }

    /// Returns true if its name is one of these.
    pub fn is(&self, names: &[&str]) -> bool {
        names.contains(&self.name)
    }
}

struct Declared;

impl Visitor for Declared {
    type Output = Kind;
    fn visit<D: Discipline>(self) -> Kind {
        let parsed = |text: &str| toml::from_str(text).unwrap_or_else(|_| json!({}));
        Kind {
            name: D::KIND,
            children: D::CHILDREN,
            work_conserving: D::WORK_CONSERVING,
            reorders: D::REORDERS,
            drops_early: D::DROPS_EARLY,
            classifies: D::CLASSIFIES,
            example: parsed(D::EXAMPLE),
            share: parsed(D::SHARE_EXAMPLE),
        }
    }
}

fn read<T: DeserializeOwned>(value: &Value) -> Result<T, String> {
    serde_json::from_value(value.clone()).map_err(|error| error.to_string())
}

fn children_of<Share: DeserializeOwned>(children: Vec<(Value, Node)>) -> Result<Vec<Child<Share>>, String> {
    children.into_iter().map(|(share, node)| Ok(Child { share: read(&share)?, node })).collect()
}

/// Creates an inner class called `place` over these children, for a parent of the kind `owner`.
///
/// # Panics
/// Panics if a share is refused: the oracle and the discipline disagree on what is valid.
pub fn build_class(owner: &str, place: &str, children: Vec<(Value, Node)>) -> Node {
    struct Build<'a>(&'a str, Vec<(Value, Node)>);
    impl Visitor for Build<'_> {
        type Output = Result<Node, String>;
        fn visit<D: Discipline>(self) -> Self::Output {
            Node::class::<D::Share>(self.0, children_of(self.1)?).map_err(|invalid| invalid.to_string())
        }
    }
    let built = disciplines::visit(owner, Build(place, children));
    built
        .unwrap_or_else(|| Err(format!("there is no kind `{owner}`")))
        .unwrap_or_else(|why| panic!("`{owner}` refuses what its oracle asks for: {why}"))
}

/// Creates a node called `place` of this kind over these children, each with its share.
///
/// # Errors
/// Returns why the parameters are refused.
pub fn try_build(
    kind: &str,
    place: &str,
    config: &Value,
    children: Vec<(Value, Node)>,
) -> Result<Node, String> {
    struct Build<'a>(&'a str, &'a Value, Vec<(Value, Node)>);
    impl Visitor for Build<'_> {
        type Output = Result<Node, String>;
        fn visit<D: Discipline>(self) -> Self::Output {
            let Self(place, config, children) = self;
            Node::new::<D>(place, read(config)?, children_of(children)?)
                .map_err(|invalid| invalid.to_string())
        }
    }
    let built = disciplines::visit(kind, Build(place, config, children));
    built.unwrap_or_else(|| Err(format!("there is no kind `{kind}`")))
}

/// Creates a node as [`try_build`] does, with parameters chosen by an oracle.
///
/// # Panics
/// Panics if they are refused: the oracle and the discipline disagree on what is valid.
pub fn build(kind: &str, place: &str, config: &Value, children: Vec<(Value, Node)>) -> Node {
    try_build(kind, place, config, children)
        .unwrap_or_else(|why| panic!("`{kind}` refuses what its oracle asks for: {why}"))
}

/// Sets new parameters of `node`, and new shares of its children.
///
/// # Errors
/// Returns why they are refused.
pub fn reconfigure(
    node: &mut Node,
    config: &Value,
    shares: &[Value],
    cx: &mut Context<'_>,
) -> Result<(), String> {
    struct Reconfigure<'a, 'b>(&'a mut Node, &'a Value, &'a [Value], &'a mut Context<'b>);
    impl Visitor for Reconfigure<'_, '_> {
        type Output = Result<(), String>;
        fn visit<D: Discipline>(self) -> Self::Output {
            let Self(node, config, shares, cx) = self;
            let shares = shares.iter().map(read).collect::<Result<_, String>>()?;
            node.reconfigure::<D>(read(config)?, shares, cx).map_err(|invalid| invalid.to_string())
        }
    }
    let kind = node.kind();
    let done = disciplines::visit(kind, Reconfigure(node, config, shares, cx));
    done.unwrap_or_else(|| Err(format!("there is no kind `{kind}`")))
}
