//! Surroundings of an interface: what others have set up there, and what becomes of it while a router runs.

use lockgate_dataplane::netlink::{Link, Netlink, RootDiscipline};
use lockgate_dataplane::redirection::{ForeignProgram, programs_at};
use lockgate_scenario::policy::Mode;

use crate::shell::word;

/// Returns a sentence for each thing at the interface whose effect a router of this mode changes.
pub(crate) fn notes(netlink: &mut Netlink, link: &Link, mode: Mode) -> Vec<String> {
    let (receives, sends) = (mode != Mode::Egress, mode != Mode::Ingress);
    let name = &link.name;
    let mut notes = Vec::new();
    if let Ok(both) = programs_at(link.index) {
        // Those of a running router are not of others.
        let [arriving, leaving] = both.map(|mut programs| {
            programs.retain(|program| program.name != "lockgate");
            programs
        });
        let sides = [(receives, arriving, "ingress"), (sends, leaving, "egress")];
        for (_, programs, side) in
            sides.iter().filter(|(is_used, programs, _)| *is_used && !programs.is_empty())
        {
            notes.push(format!(
                "{} at the {side} of `{name}`: the router's program is attached before, and frames that it takes reach \
                 no other",
                listed(programs)
            ));
        }
    }
    for discipline in netlink.root_disciplines(link.index).unwrap_or_default() {
        notes.extend(discipline_note(&discipline, name, mode));
    }
    notes
}

/// Returns the sentence about a discipline; `None` if the router leaves it its effect.
pub(crate) fn discipline_note(discipline: &RootDiscipline, name: &str, mode: Mode) -> Option<String> {
    let RootDiscipline { kind, handle, is_filter_block } = discipline;
    let sees_none = match mode {
        Mode::Bridge => "no filter sees a frame that the router takes or sends",
        Mode::Egress => "filters at its egress see no frame; those at its ingress do",
        Mode::Ingress => "filters at its ingress see the frames that the router has sent",
        Mode::Both => "filters at its egress see no frame; those at its ingress see what the router has sent",
    };
    if *is_filter_block {
        return Some(format!("`{name}` has filters ({kind}): {sees_none}"));
    }
    (mode != Mode::Ingress).then(|| {
        format!(
            "the queueing discipline `{kind}` {handle} at the root of `{name}` has no effect: the router's frames bypass \
             it; put its limits into the policy, and remove it (`tc qdisc delete dev {} root`)",
            word(name)
        )
    })
}

/// Returns the programs as words: "tcx programs 12 `guard` and 13".
pub(crate) fn listed(programs: &[ForeignProgram]) -> String {
    let shown = |program: &ForeignProgram| match &*program.name {
        "" => program.id.to_string(),
        name => format!("{} `{name}`", program.id),
    };
    let shown: Vec<String> = programs.iter().map(shown).collect();
    let word = if shown.len() == 1 { "tcx program" } else { "tcx programs" };
    format!("{word} {}", shown.join(", "))
}

/// Returns the sentence about the kernel's table of connections, if it is full in this thread's namespace.
pub(crate) fn connections_note() -> Option<String> {
    let read = |name: &str| -> Option<u64> {
        std::fs::read_to_string(format!("/proc/sys/net/netfilter/nf_conntrack_{name}"))
            .ok()?
            .trim()
            .parse()
            .ok()
    };
    let (count, most) = (read("count")?, read("max")?);
    // A full table is a few entries short of its limit: the kernel drops some old ones for each new one.
    (most > 0 && count >= most - most / 100).then(|| {
        format!(
            "the kernel's table of connections is full ({most}): it drops frames of new connections (raise \
             net.netfilter.nf_conntrack_max)"
        )
    })
}
