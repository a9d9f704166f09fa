//! Fair queueing by tags: the difference in service of two backlogged children.

use crate::finding::{Finding, Measurement};
use crate::fixtures::spread::{Shares, spread};
use crate::kind::Kind;
use crate::oracle::Oracle;
use crate::trials::{Trials, between};

pub(super) struct Tags;

impl Oracle for Tags {
    const FAMILY: &'static str = "O11";
    const NAME: &'static str = "tags";
    const THEOREM: &'static str =
        "of two children backlogged over any interval, |S_i/w_i - S_j/w_j| <= L_i/w_i + L_j/w_j";
    const SOURCE: &'static str =
        "Golestani, INFOCOM 1994 (SCFQ); Goyal, Vin and Cheng, SIGCOMM 1996, theorem 1 (STFQ)";
    const TRIALS: u32 = 60;

    fn applies(kind: &Kind) -> bool {
        kind.is(&["stfq", "scfq"])
    }

    fn hold(kind: &Kind, trials: Trials) -> Vec<Finding> {
        let mut worst = Measurement::bound("difference of two children's service", "B", 0.9);
        for trial in trials.each() {
            let mut random = trials.random("tags", trial);
            let count = between(&mut random, 2, 6) as usize;
            let shares = Shares::by_weight((0..count).map(|_| between(&mut random, 1, 20)).collect());
            spread(kind.name, &shares, 3_000, &mut random, &mut worst);
        }
        vec![worst.finding(trials.count)]
    }
}
