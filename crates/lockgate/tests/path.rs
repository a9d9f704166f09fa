//! The report of a path: the page of runs, with the packets of a program outside.

use lockgate::{report, results};
use lockgate_measure::report::page;
use lockgate_path::{Dscp, Ecn, Instant, Path};

#[test]
fn a_path_has_the_report_of_a_run() -> Result<(), lockgate_path::Error> {
    let mut path =
        Path::between("client", "server").rate("10mbit").delay("20ms").queue("fq_codel").build()?;
    let [client, _] = path.ends();
    for _ in 0..50 {
        path.send(Instant::ZERO, client, 1200usize, Ecn::Ect0, Dscp::DEFAULT)?;
    }
    while path.receive(Instant::NEVER)?.is_some() {}
    let finished = path.finish()?;
    let data = report::of_runs(finished.scenario(), &finished.summary()?, &finished.recording);
    assert_eq!(data.topology.nodes.len(), 2);
    let flow = data.runs[0].flows.iter().find(|flow| flow.name == "client-server").expect("the flow");
    assert!(!flow.owd_cdf.value_s.is_empty(), "its delays are drawn");
    let page = page(&results::template(), data);
    assert!(page.contains("lockgate-data") && page.len() > 10_000);
    Ok(())
}
