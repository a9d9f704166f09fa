//! Variants of a plan as data for a report.

use lockgate_measure::comparison::MetricComparison;
use lockgate_measure::metric::{Address, Subject};
use lockgate_measure::report::{Comparison, Shown, Variable, VariantData, VariantMetric, Variants, fronts};
use lockgate_scenario::{Vary, vary};

use crate::{Plan, Variant};

/// Limit on the flows that a report shows of each variant.
const MOST_FLOWS: usize = 4;

/// Returns the variants of a plan for a report, without their table. `columns` are the indices of the
/// variations that tables show; `metrics` are compared in the order of the plan's.
pub fn report_variants(
    plan: &Plan,
    variants: &[Variant],
    columns: &[usize],
    metrics: &[MetricComparison],
) -> Variants {
    let variables: Vec<Variable> =
        columns.iter().map(|column| variable(&plan.vary[*column], *column, variants)).collect();
    let data = |variant: &Variant| {
        let texts: Vec<&str> = columns.iter().map(|column| variant.values[*column].as_str()).collect();
        let index = |(variable, text): (&Variable, &&str)| {
            variable.values.iter().position(|value| value == *text).unwrap_or_default()
        };
        VariantData {
            label: texts.join(" "),
            values: variables.iter().zip(&texts).map(index).collect(),
            missed: Vec::new(),
        }
    };
    let metrics: Vec<VariantMetric> =
        plan.metrics.iter().zip(metrics).map(|(path, compared)| VariantMetric::new(path, compared)).collect();
    Variants {
        variants: variants.iter().map(data).collect(),
        fronts: fronts(&metrics),
        seeds: plan.seeds.clone(),
        variables,
        metrics,
        table: Comparison::default(),
        recommended: None,
    }
}

/// Returns a variation as a variable: its distinct values, as numbers if all of them are of one unit.
fn variable(one: &Vary, column: usize, variants: &[Variant]) -> Variable {
    let mut values: Vec<String> = Vec::new();
    for variant in variants {
        let value = &variant.values[column];
        if !values.contains(value) {
            values.push(value.clone());
        }
    }
    let unit = values.first().map_or("", |value| vary::unit(value));
    let is_same = values.iter().all(|value| vary::unit(value) == unit);
    let numbers = values.iter().map(|value| vary::number(value)).collect::<Option<Vec<f64>>>();
    Variable {
        name: one.name.clone(),
        path: String::new(),
        unit: unit.to_owned(),
        numbers: numbers.filter(|_| is_same).unwrap_or_default(),
        values,
    }
}

/// Returns the flows and ports whose curves a report shows: those of the plan's metrics, and the ports that
/// its variations set. `flows` are the names of all flows; the first ones are shown if no metric is of a
/// flow.
pub fn shown(plan: &Plan, flows: &[String]) -> Shown {
    let mut shown = Shown::default();
    let add = |names: &mut Vec<String>, name: String| {
        if !names.contains(&name) {
            names.push(name);
        }
    };
    for address in plan.metrics.iter().filter_map(|path| Address::parse(path).ok()) {
        match address.subject {
            Subject::Flow(name) if flows.contains(&name) => add(&mut shown.flows, name),
            Subject::Group(group) | Subject::Bin(group, _) => shown.flows.extend(first_member(&group, flows)),
            Subject::Flow(pattern) => {
                let group = pattern.trim_end_matches("/*").to_owned();
                shown.flows.extend(first_member(&group, flows));
            }
            Subject::Port(port) | Subject::Queue(port, _) => add(&mut shown.ports, port),
            Subject::Run => {}
        }
    }
    shown.flows.dedup();
    if shown.flows.is_empty() {
        shown.flows = flows.to_vec();
    }
    shown.flows.truncate(MOST_FLOWS);
    for path in plan.vary.iter().flat_map(|one| &one.paths) {
        if let Some(port) = vary::port_of(path) {
            add(&mut shown.ports, port);
        }
    }
    shown
}

/// Returns the first flow of a group.
fn first_member(group: &str, flows: &[String]) -> Option<String> {
    flows.iter().find(|name| name.split_once('/').is_some_and(|(of, _)| of == group)).cloned()
}

#[cfg(test)]
mod tests {
    use lockgate_measure::comparison::Reference;

    use super::*;

    fn plan(vary: &[&str], metrics: &[&str]) -> Plan {
        Plan {
            vary: vary.iter().map(|text| Vary::parse(text).expect("a variation")).collect(),
            seeds: vec![1],
            metrics: metrics.iter().map(|path| (*path).to_owned()).collect(),
            ..Plan::default()
        }
    }

    #[test]
    fn variables_have_distinct_values_and_numbers_where_all_are_numbers() {
        let plan = plan(&["link.a.delay=5ms,1ms", "port.a:b.root=x,y"], &["jain_index"]);
        let variants = plan.variants().expect("variants");
        let values: Vec<Vec<Option<f64>>> = (0..4).map(|index| vec![Some(f64::from(index))]).collect();
        let compared = [MetricComparison::new(&values, None, Reference::Given(0))];
        let data = report_variants(&plan, &variants, &[0, 1], &compared);
        assert_eq!(
            (data.variables[0].values.join(" "), data.variables[0].unit.as_str()),
            ("5ms 1ms".into(), "s")
        );
        assert_eq!(data.variables[0].numbers, [0.005, 0.001]);
        assert!(data.variables[1].numbers.is_empty());
        assert_eq!((data.variants[2].label.as_str(), &*data.variants[2].values), ("1ms x", &[1, 0][..]));
    }

    #[test]
    fn curves_are_of_the_flows_and_ports_that_the_plan_names() {
        let flows: Vec<String> = ["call", "b/1", "b/2", "web"].map(str::to_owned).to_vec();
        let named =
            plan(&["port.a->b.root=x,y"], &["flow.call.loss", "group.b.goodput.sum", "port.c:d.utilisation"]);
        let found = shown(&named, &flows);
        assert_eq!((found.flows.join(" "), found.ports.join(" ")), ("call b/1".into(), "c:d a:b".into()));
        assert_eq!(shown(&plan(&["link.a.loss=1%"], &["jain_index"]), &flows).flows.len(), 4);
    }
}
