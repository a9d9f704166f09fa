//! A scenario written as a file and read again is the same scenario.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lockgate_engine::units::{Bytes, Duration, Instant, Limit, Packets, Rate};
use lockgate_scenario::builder::{
    ExpectationBuilder, FlowBuilder, LinkBuilder, NodeBuilder, PortBuilder, QueueBuilder, ScenarioBuilder,
    Setting,
};
use lockgate_scenario::{Files, Scenario, read};

/// The folder of a scenario.
struct Folder(PathBuf);

impl Files for Folder {
    fn load(&self, path: &str) -> Result<Arc<[u8]>, String> {
        std::fs::read(self.0.join(path)).map(Arc::from).map_err(|error| error.to_string())
    }
}

/// Returns the scenario in a form that can be compared: all fields of the model.
fn model(scenario: &Scenario) -> String {
    format!("{scenario:#?}")
}

fn files_below(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files_below(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "toml") {
            found.push(path);
        }
    }
}

#[test]
fn every_scenario_is_read_again_as_it_was() {
    let mut paths = Vec::new();
    files_below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios"), &mut paths);
    assert!(paths.len() > 8, "{paths:?}");
    for path in paths {
        let name = path.display().to_string();
        let files = Folder(path.parent().expect("a folder").to_owned());
        let text = std::fs::read_to_string(&path).expect("text");
        let first = read(&text, &name, &files, &[]).unwrap_or_else(|problems| panic!("{name}: {problems:?}"));
        let second = read(&first.to_toml(), &name, &files, &[]).expect("its own text");
        assert!(model(&first) == model(&second), "{name} is not read as it was written");
    }
}

fn built() -> ScenarioBuilder {
    let rest =
        QueueBuilder::new("rest", "fifo").with("quantum", Bytes(1500)).limit(Limit::Packets(Packets(50)));
    let voice = QueueBuilder::new("voice", "fifo")
        .with("quantum", Bytes(600))
        .with("match", Setting::list([Setting::table([("flow", "call".into())])]));
    let port = PortBuilder::new(QueueBuilder::new("fair", "drr").child(voice).child(rest))
        .alternative(QueueBuilder::new("plain", "fifo"))
        .with("ring", 16);
    let mut builder = ScenarioBuilder::new("built", Duration::from_secs(10));
    builder
        .warmup(Duration::from_secs(1))
        .record("packets", true)
        .node("a", NodeBuilder::default())
        .node("b", NodeBuilder::default().with("address", "192.0.2.1"))
        .link(
            "wan",
            LinkBuilder::new(["a", "b"], Rate::from_bits(2_500_000)).delay(Duration::from_micros(1500)),
        )
        .port("a:b", port)
        .flow("call", FlowBuilder::new("a", "b").size(Bytes(200)).gap(Duration::from_millis(20)))
        .flow("data", FlowBuilder::new("a", "b").size(Bytes(1500)).rate(Rate::from_bits(3_000_000)))
        .change(Instant::ZERO + Duration::from_secs(4), [("link.wan.rate", Rate::from_bits(2_000_000))])
        .change(Instant::ZERO + Duration::from_secs(5), [("port.a:b.root", "plain")])
        .expect(ExpectationBuilder::new("flow.call.owd.p99").below(Duration::from_millis(20)));
    builder
}

#[test]
fn a_built_scenario_is_read_as_it_was_built() {
    let files = BTreeMap::<String, Arc<[u8]>>::new();
    let first = built().build(&files).unwrap_or_else(|problems| panic!("{problems:?}"));
    assert_eq!(first.links[0].rate, Rate::from_bits(2_500_000));
    assert_eq!(first.links[0].delay, Duration::from_micros(1500));
    assert_eq!((first.changes.len(), first.expects.len(), first.record.packets), (2, 1, true));
    assert_eq!(first.ports[0].queues.len(), 4);
    assert!(first.warnings.is_empty(), "{:?}", first.warnings);
    let second = read(&first.to_toml(), "built", &files, &[]).expect("its own text");
    assert_eq!(model(&first), model(&second));
}

/// Wrong values have the problems of a file, at positions of the builder's text.
#[test]
fn a_wrong_scenario_has_the_problems_of_its_text() {
    let files = BTreeMap::<String, Arc<[u8]>>::new();
    let mut builder = built();
    builder.flow("lost", FlowBuilder::new("a", "c").size(Bytes(100)).gap(Duration::from_millis(1)));
    let said = |problems: lockgate_scenario::Problems| {
        problems.iter().map(|problem| (problem.to_string(), problem.position())).collect::<Vec<_>>()
    };
    let problems = said(builder.build(&files).expect_err("there is no `c`"));
    assert_eq!(problems, said(read(&builder.to_toml(), "built", &files, &[]).expect_err("the same")));
    assert!(problems[0].0.contains("no node called `c`") && problems[0].1.is_some(), "{problems:?}");
    builder.node("a", NodeBuilder::default());
    let twice = said(builder.build(&files).expect_err("two nodes called `a`"));
    assert!(twice[0].0.contains("`node.a` was added twice"), "{twice:?}");
}
