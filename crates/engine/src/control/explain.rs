//! Explanation of `CoDel`'s decision: the waiting against the target, the clock of first-above, and the clock
//! of drops.

use super::{Aim, ControlLaw};
use crate::explanation::{Field, Value, Why, why};
use crate::packet::Packet;
use crate::units::{Bytes, Duration, Instant};

impl ControlLaw {
    /// Returns the law's quantities before a decision on the oldest packet.
    pub(crate) fn fields(&self, aim: &Aim, head: Option<&Packet>, now: Instant) -> Vec<Field> {
        let mut fields = Vec::new();
        let mut add = |name, value: Value| fields.push(Field { name, value });
        let none = || Value::Word("-");
        add("sojourn", head.map_or_else(none, |head| now.since(head.arrived).into()));
        add("target", aim.target.into());
        add("first above until", self.first_above.map_or_else(none, Value::Time));
        add("next drop", if self.dropping { self.drop_next.into() } else { none() });
        add("count", self.count.into());
        fields
    }

    /// Says why the law, which is `after` the decision, dropped this many packets; `behind`: the bytes queued
    /// behind the oldest packet.
    pub(crate) fn reason(
        &self,
        after: &Self,
        aim: &Aim,
        (head, behind): (&Packet, Bytes),
        drops: usize,
        now: Instant,
    ) -> Why {
        let sojourn: Duration = now.since(head.arrived);
        let above = why!["sojourn ", sojourn, " >= target ", aim.target];
        if drops > 0 && self.dropping {
            return above.and(why![
                " and the drop clock ",
                self.drop_next,
                " has come: drops ",
                drops,
                ", count ",
                after.count,
                ", next at ",
                after.drop_next,
            ]);
        }
        if drops > 0 {
            return above.and(why![
                " for an interval of ",
                aim.interval,
                ": drops the first, count ",
                after.count,
                ", next at ",
                after.drop_next,
            ]);
        }
        if sojourn < aim.target {
            return why!["sojourn ", sojourn, " < target ", aim.target, ": no drop"];
        }
        if behind <= aim.mtu {
            return above.and(why![
                ", but ",
                behind,
                " behind it are at most the mtu ",
                aim.mtu,
                ": no drop"
            ]);
        }
        match self.first_above {
            _ if self.dropping && self.drop_next > now => {
                above.and(why![", but the drop clock is at ", self.drop_next, ": no drop yet"])
            }
            Some(due) if due > now => above.and(why![", but only for an interval at ", due, ": no drop yet"]),
            Some(_) => above.and(why![": marked instead of dropped, next at ", after.drop_next]),
            None => {
                let due = now + aim.interval;
                above.and(why![" from now on: no drop before ", due])
            }
        }
    }
}
