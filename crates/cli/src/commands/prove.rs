//! `lockgate prove`: bounds on delays, with their derivations.

use lockgate::{proof, text};
use lockgate_scenario::nearest;

use crate::arguments::Prove;
use crate::exit::{Exit, Failure};
use crate::{results, runs, terminal};

/// Number of flows up to which all derivations are shown.
const MOST_SHOWN: usize = 8;

pub(crate) fn prove(arguments: &Prove) -> Result<Exit, Failure> {
    let file = arguments.file.as_deref().ok_or_else(runs::no_file)?;
    let scenario = arguments.reading.read(file)?;
    terminal::warnings(&scenario.warnings);
    if let Some(why) = proof::too_large(&scenario) {
        return Err(Failure::usage(
            why,
            "prove a part of the network, with fewer flows or queues".to_owned(),
        ));
    }
    for name in &arguments.flows {
        let names = || scenario.flows.iter().map(|flow| flow.name.as_str());
        if !names().any(|known| known == name) {
            let help = nearest(name, names()).map_or_else(
                || "`lockgate check` lists what the scenario has".to_owned(),
                |nearest| format!("did you mean `{nearest}`?"),
            );
            return Err(Failure::usage(format!("there is no flow `{name}`"), help));
        }
    }
    let found = proof::prove(&scenario);
    if arguments.json {
        results::print_json(&proof::document(&scenario, &found))?;
        return Ok(Exit::Ok);
    }
    let shown = |name: &str| match arguments.flows.as_slice() {
        [] => scenario.flows.len() <= MOST_SHOWN,
        named => named.iter().any(|flow| flow == name),
    };
    terminal::show(|lines| {
        text::bounds(&scenario, &found, lines);
        for (index, flow) in scenario.flows.iter().enumerate() {
            if shown(&flow.name) {
                text::derivation(&found, index, lines);
            }
        }
        text::buffers(&found, lines);
        if arguments.flows.is_empty() && scenario.flows.len() > MOST_SHOWN {
            let first = &scenario.flows[0].name;
            lines.line("");
            lines.offer(&format!("derivations: lockgate prove {} --flow {first}", file.display()));
        }
    });
    Ok(Exit::Ok)
}
