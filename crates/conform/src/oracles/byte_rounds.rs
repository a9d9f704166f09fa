//! Round robins by bytes: the difference in service of two backlogged children.

use serde_json::json;

use crate::finding::{Finding, Measurement};
use crate::fixtures::spread::{Shares, spread};
use crate::kind::Kind;
use crate::oracle::Oracle;
use crate::trials::{Trials, between};

pub(super) struct ByteRounds;

fn shares(kind: &Kind, trial: u32, random: &mut lockgate_engine::random::Random) -> Shares {
    let count = between(random, 2, 6) as usize;
    match kind.name {
        "drr" | "ets" => {
            // Quanta smaller and larger than the packets.
            let most = [100, 1_514, 20_000][random.below(3) as usize];
            Shares::by_quantum((0..count).map(|_| between(random, 1, most)).collect())
        }
        "wfq-altq" => {
            let scale = [10, 300][trial as usize % 2];
            let weights: Vec<u64> = (0..count).map(|_| scale * between(random, 1, 20)).collect();
            let quanta: Vec<u64> = weights.iter().map(|weight| 512 * weight / 100).collect();
            let turn = quanta[0] * quanta[1];
            Shares { weights: quanta, turn, ..Shares::by_weight(weights) }
        }
        "sfq" => {
            let quantum = [100, 1514][trial as usize % 2];
            Shares::common(json!({ "quantum": format!("{quantum}B") }), quantum, count)
        }
        _ => {
            let quantum = between(random, 256, 4_000);
            let config = json!({
                "flows": 65_536, "quantum": format!("{quantum}B"), "target": "1000s", "limit": "1000000p",
            });
            Shares::common(config, quantum, count)
        }
    }
}

impl Oracle for ByteRounds {
    const FAMILY: &'static str = "O7";
    const NAME: &'static str = "byte-rounds";
    const THEOREM: &'static str =
        "of two children backlogged over any interval, |S_i/Q_i - S_j/Q_j| <= 1 + L_i/Q_i + L_j/Q_j";
    const SOURCE: &'static str = "Shreedhar and Varghese, SIGCOMM 1995, lemma 2";
    const TRIALS: u32 = 60;

    fn applies(kind: &Kind) -> bool {
        kind.is(&["drr", "ets", "fq_codel", "fq_pie", "sfq", "wfq-altq"])
    }

    fn hold(kind: &Kind, trials: Trials) -> Vec<Finding> {
        let mut worst = Measurement::bound("difference of two children's service", "B", 0.8);
        for trial in trials.each() {
            let mut random = trials.random("byte-rounds", trial);
            let shares = shares(kind, trial, &mut random);
            spread(kind.name, &shares, 2_000, &mut random, &mut worst);
        }
        vec![worst.finding(trials.count)]
    }
}
