//! Reproductions in words: tallies, criteria, remarks, and the tables of a report.

use lockgate_measure::report::{Cell, Comparison};

use super::file::Ours;
use super::{JudgedClaim, Live, Reproduction, Tallies, Tally};

/// Returns the claims of the paper, or Lockgate's own.
pub fn claims(reproduction: &Reproduction, own: bool) -> Vec<&JudgedClaim> {
    reproduction.claims.iter().filter(|judged| judged.claim.own == own).collect()
}

/// Returns the name of a set of claims.
pub const fn whose(own: bool) -> &'static str {
    if own { "Lockgate's own claims" } else { "The paper's claims" }
}

/// Returns a tally in words.
fn sentence(whose: &str, tally: Tally) -> String {
    let mut parts = vec![format!("{} of {} hold", tally.hold, tally.claims)];
    for (count, words) in [
        (tally.hold_fitted, "hold with a parameter that was fitted to them"),
        (tally.do_not_hold, "do not hold"),
        (tally.hold_beside, "of these hold with a fitted value in place of the paper's own"),
        (tally.not_decidable, "cannot be decided from the paper's text"),
    ] {
        if count > 0 {
            parts.push(format!("{count} {words}"));
        }
    }
    format!("{whose}: {}", parts.join(", "))
}

/// Returns the tallies in words: of the paper's claims and, if there are any, of Lockgate's own.
pub fn sentences(reproduction: &Reproduction) -> Vec<String> {
    let Tallies { paper, own } = Tallies::of(&reproduction.claims);
    let all = [(false, paper), (true, own)].into_iter();
    let some = all.filter(|(_, tally)| tally.claims > 0);
    some.map(|(is_own, tally)| sentence(whose(is_own), tally)).collect()
}

/// Returns the criterion of a claim, with the expected values if they are few.
pub fn bound(judged: &JudgedClaim) -> String {
    let claim = &judged.claim;
    if claim.expected.len() > 1 && claim.expected.len() <= 6 {
        return format!("{}{}", judged.expected(), claim.bound().replace("each as given", ""));
    }
    claim.bound()
}

/// Returns a sentence on the results on real packets.
pub fn on_packets(reproduction: &Reproduction, live: &Live) -> String {
    let of = |own: bool| {
        let claims = claims(reproduction, own);
        let agree = |wanted: Option<bool>| claims.iter().filter(|judged| judged.agree() == wanted).count();
        (!claims.is_empty()).then(|| {
            format!(
                "{}: {} as in the simulation, {} otherwise, {} not decided",
                whose(own),
                agree(Some(true)),
                agree(Some(false)),
                agree(None)
            )
        })
    };
    let words = [false, true].into_iter().filter_map(of).collect::<Vec<_>>().join("; ");
    if live.outside.is_empty() {
        return format!("live, {words}");
    }
    let (outside, made) = (live.outside.len(), live.scales.len());
    format!(
        "live, {words}; {outside} of {made} runs outside the fidelity limits: values of such runs are marked `!`"
    )
}

/// Returns the remarks on a claim.
pub fn remarks(judged: &JudgedClaim) -> Vec<String> {
    let claim = &judged.claim;
    let mut remarks = Vec::new();
    if !claim.note.is_empty() {
        remarks.push(claim.note.clone());
    }
    remarks.extend(claim.undecidable.iter().map(|why| format!("not decidable: {why}")));
    if judged.agree() == Some(false) {
        remarks.extend(claim.live_differs.iter().map(|difference| format!("live: {}", difference.words())));
    }
    remarks
}

/// Returns the tables of a report: the paper's claims, Lockgate's own, runs on real packets, and remarks.
pub fn tables(reproduction: &Reproduction) -> Vec<Comparison> {
    let mut tables: Vec<Comparison> =
        [false, true].into_iter().filter_map(|own| table(reproduction, own)).collect();
    tables.extend(reproduction.live.as_ref().map(live_runs));
    tables.extend(remarks_table(reproduction));
    tables
}

/// Returns the table of the paper's claims, or of Lockgate's own; `None` if there are none.
fn table(reproduction: &Reproduction, own: bool) -> Option<Comparison> {
    let is_live = reproduction.live.is_some();
    let is_beside = claims(reproduction, own).iter().any(|judged| judged.beside.is_some());
    let cells = |judged: &JudgedClaim| {
        let claim = &judged.claim;
        let mut cells = vec![
            claim.place.clone(),
            claim.text.clone(),
            claim.paper.clone(),
            claim.decide.clone(),
            bound(judged),
            judged.shown(),
        ];
        cells.extend(is_beside.then(|| judged.shown_beside()));
        cells.extend(is_live.then(|| judged.shown_live()));
        cells.push(judged.words());
        cells.into_iter().map(Cell::Text).collect()
    };
    let rows: Vec<Vec<Cell>> = claims(reproduction, own).into_iter().map(cells).collect();
    let mut columns = vec!["where", "claim", "the paper", "decided by", "bound", "simulation"];
    columns.extend(is_beside.then_some("with a fitted value"));
    columns.extend(is_live.then_some("live"));
    columns.push("verdict");
    let note = if own {
        "Causes, checks against other models, and derivations that the paper does not make."
    } else {
        reproduction.paper.as_str()
    };
    (!rows.is_empty()).then(|| Comparison {
        title: whose(own).to_owned(),
        columns: columns.into_iter().map(str::to_owned).collect(),
        rows,
        addresses: Vec::new(),
        note: note.to_owned(),
    })
}

/// Returns the table of parameters that are ours; `None` if there are none.
pub(super) fn ours(ours: &[Ours]) -> Option<Comparison> {
    let row = |ours: &Ours| {
        let paper = format!("{}: {}", ours.place, ours.paper);
        [ours.name.clone(), ours.used.clone(), paper].map(Cell::Text).to_vec()
    };
    (!ours.is_empty()).then(|| Comparison {
        title: "Parameters that are ours".to_owned(),
        columns: ["parameter", "value", "the paper"].map(str::to_owned).to_vec(),
        rows: ours.iter().map(row).collect(),
        addresses: Vec::new(),
        note: String::new(),
    })
}

/// Returns the table of runs on real packets, with the reasons why others were not made.
fn live_runs(live: &Live) -> Comparison {
    let text = |text: &str| Cell::Text(text.to_owned());
    let made = live.scales.iter().map(|(run, scale)| {
        let limits = live.outside.get(run).map_or_else(|| "within".to_owned(), |why| why.join("; "));
        vec![text(run), Cell::Number(scale.times()), Cell::Text(limits)]
    });
    let not = live
        .not
        .iter()
        .map(|(run, why)| vec![text(run), Cell::Empty, Cell::Text(format!("not made: {why}"))]);
    Comparison {
        title: "Runs on real packets".to_owned(),
        columns: ["run", "times faster", "fidelity limits"].map(str::to_owned).to_vec(),
        rows: made.chain(not).collect(),
        addresses: Vec::new(),
        note: "A run that is faster has its rates multiplied and its times divided by that; its values are told in the paper's \
               time."
            .to_owned(),
    }
}

/// Claims that the table of remarks names beside one; more are counted.
const CLAIMS_NAMED: usize = 3;

/// Returns the table of remarks, each once, with the claims that it is on.
fn remarks_table(reproduction: &Reproduction) -> Option<Comparison> {
    let mut rows: Vec<(String, Vec<&str>)> = Vec::new();
    for judged in &reproduction.claims {
        let claim = &judged.claim;
        let mut words = remarks(judged);
        if !claim.ours.is_empty() {
            words.push(format!("ours: {}", claim.ours.join(", ")));
        }
        if !claim.fitted.is_empty() {
            words.push(format!("fitted: {}", claim.fitted.join(", ")));
        }
        if !claim.chosen.is_empty() {
            words.push(format!("the bound is ours: {}", claim.chosen));
        }
        for words in words {
            match rows.iter_mut().find(|(remark, _)| *remark == words) {
                Some((_, claims)) => claims.push(&claim.text),
                None => rows.push((words, vec![&claim.text])),
            }
        }
    }
    let row = |(remark, claims): (String, Vec<&str>)| {
        let more = match claims.len().saturating_sub(CLAIMS_NAMED) {
            0 => String::new(),
            more => format!("; and {more} more"),
        };
        let claims = claims[..claims.len().min(CLAIMS_NAMED)].join("; ") + &more;
        [remark, claims].map(Cell::Text).to_vec()
    };
    (!rows.is_empty()).then(|| Comparison {
        title: "Remarks".to_owned(),
        columns: ["remark", "on the claims"].map(str::to_owned).to_vec(),
        rows: rows.into_iter().map(row).collect(),
        addresses: Vec::new(),
        note: String::new(),
    })
}
