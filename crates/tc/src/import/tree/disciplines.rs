//! Disciplines, and what stands in those without classes.

use lockgate_scenario::reference::{Reference, reference};

use super::kernel::takes_stab;
use super::{Builder, DEEPEST, DEVICE_QUEUE, Owner, Queue, fifo, name_of, names};
use crate::handle::Handle;
use crate::import::account::options_of;
use crate::import::conditions::{Headers, Rule};
use crate::import::settings::{Parameters, translate, value_of};
use crate::language::Kind;
use crate::problem::Problem;
use crate::syntax::Qdisc;
use crate::value::Value;

/// Returns the kind of scenarios that a discipline becomes.
fn reference_of(qdisc: &Qdisc) -> Result<Reference, Problem> {
    let name = qdisc.kind.in_scenarios();
    reference(name).ok_or_else(|| Problem::new(qdisc.kind.at, format!("kind `{name}` is not known yet")))
}

fn handle_of(qdisc: &Qdisc) -> Result<Handle, Problem> {
    let message = || format!("`{}` without a handle: nothing can lead to its classes", *qdisc.kind);
    qdisc.handle.as_deref().copied().ok_or_else(|| Problem::new(qdisc.kind.at, message()))
}

impl<'a> Builder<'a> {
    /// Returns the queue of a discipline, with all below it.
    pub(super) fn qdisc(
        &mut self,
        qdisc: &'a Qdisc,
        name: String,
        depth: usize,
        flows: &[&Headers],
    ) -> Result<Queue, Problem> {
        let kind = *qdisc.kind;
        self.check_nesting(qdisc, depth)?;
        let reference = reference_of(qdisc)?;
        if kind == Kind::CakeMq {
            self.left_out.push(
                "the transmit queues of `cake_mq`, each with a `cake`, which share the rate: here they are one"
                    .to_owned(),
            );
        }
        let is_general = self.objects.is_general;
        let known = &reference.parameters;
        let mut parameters = translate(kind, &qdisc.settings, known, &mut self.left_out, is_general)?;
        self.apply_defaults(qdisc, &reference, &mut parameters)?;
        let owner = |handle| Owner { qdisc, handle, reference: &reference, depth };
        let mut has_rest = true;
        let children = match kind {
            // Without a handle, nothing leads to its bands but the map of priorities.
            Kind::PfifoFast => {
                let handle = qdisc.handle.as_deref().copied().unwrap_or(Handle { major: 0, minor: 0 });
                self.bands(&owner(handle), flows)?
            }
            Kind::Prio | Kind::Ets => self.bands(&owner(handle_of(qdisc)?), flows)?,
            kind if kind.has_explicit_classes() => {
                let (classes, rest) = self.all_classes(&owner(handle_of(qdisc)?), flows)?;
                has_rest = rest;
                classes
            }
            _ => self.inner(qdisc, depth, flows)?,
        };
        self.account.take(&qdisc.words);
        if let Some(stab) = qdisc.stab.filter(|_| takes_stab(kind)) {
            self.account.stab(qdisc, stab.at, true);
        }
        match kind {
            Kind::Tbf if depth == 0 => self.add_stab(known, &mut parameters)?,
            Kind::Cake | Kind::CakeMq if depth == 0 => self.add_stab_of_cake(known, &mut parameters)?,
            _ => {}
        }
        if kind == Kind::Tbf && !children.is_empty() {
            self.leave_out_limit(qdisc, &mut parameters);
        }
        self.settings(&qdisc.words, (kind, &qdisc.settings), known, &[&parameters]);
        let known = names(known);
        let queue =
            Queue { name, kind: kind.in_scenarios(), known, parameters, children, ..Queue::default() };
        Ok(if has_rest { queue } else { self.without_rest(qdisc, queue) })
    }

    /// Checks that a scenario can have a discipline at its place.
    fn check_nesting(&self, qdisc: &Qdisc, depth: usize) -> Result<(), Problem> {
        let kind = *qdisc.kind;
        let refuse = |why: String| Err(Problem::new(qdisc.kind.at, why));
        if depth > DEEPEST {
            return refuse(format!("the tree is deeper than {DEEPEST}"));
        }
        if let Some(why) = self.kernel.and_then(|kernel| kind.missing_in(kernel)) {
            return refuse(why);
        }
        if let Some(stab) = qdisc.stab.filter(|_| depth > 0) {
            return Err(Problem::new(stab.at, "`stab` below the root is not understood"));
        }
        let is_of_scripts = matches!(kind, Kind::CakeMq | Kind::PfifoFast);
        if !kind.is_of_device() && (self.objects.is_general || !is_of_scripts) {
            return Ok(());
        }
        let why = match kind {
            Kind::Mq => {
                "the transmit queues of the device have disciplines that differ, or none; a port has one: write that of one queue at the root"
            }
            Kind::Noqueue => "it queues nothing",
            _ => "it is not known yet",
        };
        refuse(format!("kind `{kind}`: {why}"))
    }

    /// Leaves out the limit of a `tbf` over another discipline.
    fn leave_out_limit(&mut self, qdisc: &Qdisc, parameters: &mut Parameters) {
        let is_limit = |name: &str| ["limit", "latency"].contains(&name);
        let options = options_of(&qdisc.words, &qdisc.settings);
        for (setting, option) in qdisc.settings.iter().zip(options).filter(|(of, _)| is_limit(*of.name)) {
            self.account.name_option(&qdisc.words, option);
            self.left_out.push(format!(
                "`{setting}` of `tbf`: the queue below it, which it sizes, is replaced by another discipline"
            ));
        }
        parameters.retain(|(name, _)| !is_limit(name));
    }

    /// Returns the tree of a discipline without a class for the packets that no filter takes.
    fn without_rest(&mut self, qdisc: &Qdisc, queue: Queue) -> Queue {
        let kind = *qdisc.kind;
        if kind != Kind::Htb {
            self.left_out.push(format!(
                "the packets that no filter of `{kind}` takes: the kernel drops them; here they go to its last class, counted as unclassified"
            ));
            return queue;
        }
        // `htb` sends such packets directly: unshaped, and before all others.
        let limit = match value_of(&qdisc.settings, "direct_qlen") {
            Some(Value::Packets(limit)) => *limit,
            _ => DEVICE_QUEUE,
        };
        let Queue { name, .. } = &queue;
        let mut direct = fifo(format!("{name}-direct"), limit.max(1));
        direct.rules = vec![Rule { preference: 2, ..Rule::default() }];
        let mut shaped = Queue { name: format!("{name}-shaped"), ..queue.clone() };
        let first = |rule: &Rule| Rule { preference: 1, ..rule.clone() };
        shaped.rules = shaped.children.iter().flat_map(|child| child.rules.iter().map(first)).collect();
        self.left_out.push(
            "`default` of `htb`, which is not given: packets that no filter takes pass unshaped before all others, in the queue `direct`"
                .to_owned(),
        );
        Queue { name: name.clone(), kind: "prio", children: vec![direct, shaped], ..Queue::default() }
    }

    /// Returns the discipline attached to another one without classes, if any.
    fn inner(&mut self, qdisc: &Qdisc, depth: usize, flows: &[&Headers]) -> Result<Vec<Queue>, Problem> {
        let Some(own) = qdisc.handle else { return Ok(Vec::new()) };
        let is_inner = |other: &&&'a Qdisc| other.parent.is_some_and(|parent| parent.owner() == *own);
        let inner: Vec<_> = self.objects.qdiscs.iter().filter(is_inner).copied().collect();
        inner
            .into_iter()
            .map(|inner| {
                let handle =
                    inner.handle.map_or_else(|| format!("in-{}", *inner.kind), |own| own.to_string());
                self.qdisc(inner, name_of("inner", &handle), depth + 1, flows)
            })
            .collect()
    }
}
