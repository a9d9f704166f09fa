//! Rules on several devices: marks that are not there yet when what arrives is queued.

use super::{Device, Findings};
use crate::syntax::{Classifier, FilterAction, Selector};

pub(super) fn check(devices: &[Device<'_>], findings: &mut Findings) {
    for device in devices {
        for filter in device.filters.iter().filter(|filter| filter.parent.is_hook()) {
            let Some(target) = filter.actions.iter().find_map(|action| match &**action {
                FilterAction::Redirect(target) => Some(target.as_str()),
                _ => None,
            }) else {
                continue;
            };
            // The mark must come by an action of this filter, or of one before it.
            let is_marked =
                device.filters.iter().filter(|other| other.parent == filter.parent).any(|other| {
                    other.actions.iter().any(|action| {
                        matches!(
                            &**action,
                            FilterAction::FromConnection(_)
                                | FilterAction::Mark(_)
                                | FilterAction::Priority(_)
                        )
                    })
                });
            if is_marked {
                continue;
            }
            for queue in devices.iter().filter(|other| other.name == target) {
                lost(queue, device.name, findings);
            }
        }
    }
}

/// Reports filters and tins by mark on a device that gets packets before netfilter.
fn lost(queue: &Device<'_>, from: &str, findings: &mut Findings) {
    for qdisc in &queue.qdiscs {
        if let Some(mask) = qdisc.settings.iter().find(|setting| *setting.name == "fwmark") {
            let message = format!(
                "what arrives at `{from}` comes to `{}` before netfilter: it has no mark yet, and chooses no tin",
                queue.name
            );
            let help = "restore the mark before the redirection: `... action connmark action mirred egress redirect dev ...`";
            findings.warn("mark-on-ingress", mask.name.at, message, help);
        }
    }
    for filter in &queue.filters {
        let is_by_mark = match &filter.classifier.value {
            Classifier::Fw => true,
            Classifier::U32(selectors) => {
                selectors.iter().any(|selector| matches!(&**selector, Selector::Mark(_)))
            }
            _ => false,
        };
        if is_by_mark {
            let message = format!(
                "what arrives at `{from}` comes to `{}` before netfilter: it has no mark yet, and this filter never takes a packet",
                queue.name
            );
            let help = "restore the mark before the redirection: `... action connmark action mirred egress redirect dev ...`, or match what the packets carry";
            findings.warn("mark-on-ingress", filter.classifier.at, message, help);
        }
    }
}
