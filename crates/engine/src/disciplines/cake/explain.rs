//! Explanation of a decision of `cake`: shaper, tins, and in each tin the flows in the order of their turns.

use super::Cake;
use crate::explanation::{Choice, Explanation, Foresight, PacketName, Row, Value, why};
use crate::packet::FlowId;

impl Cake {
    pub(super) fn explain_decision(&self, cx: &mut Foresight<'_>, to: &mut Explanation) {
        to.state("packets", self.backlog.packets);
        if self.config.bandwidth.is_some() {
            to.state("next departure", self.next);
        }
        let mut copy = self.clone();
        to.rehearse(&mut copy, cx);
        let chosen = if let Choice::Packet { packet, .. } = to.choice { Some(packet) } else { None };
        to.row_noun = "tin, flow";
        let mut why = why!["no packet waits"];
        for (name, number) in self.config.diffserv.tins().filter(|(_, number)| self.tins[*number].packets > 0)
        {
            let tin = &self.tins[number];
            let row = Row::named(name).with("packets", tin.packets);
            to.row(match self.config.bandwidth {
                Some(_) => row.with("used its part until", tin.clock),
                None => row.with("deficit", Value::Bytes(tin.deficit.into())),
            });
            for turn in tin.turns(self.config.isolation).filter(|turn| !turn.packets.is_empty()) {
                let head = turn.packets.front();
                let name = head.map_or(Value::Word("-"), |head| head.flow.into());
                let row = Row::named(name).with("list", turn.list).with("packets", turn.packets.len());
                let mut row =
                    row.with("deficit", Value::Bytes(turn.deficit.into())).with("host's flows", turn.load);
                row.fields.extend(turn.law.fields(&tin.aim, head, cx.now));
                row.depth = 1;
                let holds = |name| turn.packets.iter().any(|queued| PacketName::from(&**queued) == name);
                if let (Some(packet), Some(head)) = (chosen.filter(|packet| holds(*packet)), head) {
                    to.chosen_row(to.rows.len());
                    why = self.reason(number, cx, packet);
                    let law = turn.law.reason(&tin.aim, head, to.drops.len(), cx.now);
                    why = why.and(why!["; "]).and(law);
                }
                to.row(row);
            }
        }
        to.why = match to.choice {
            Choice::Wait(time) => why!["the shaper: next departure ", time, " > now ", cx.now],
            _ => why,
        };
    }

    /// Says why this tin sends, and the flow of this packet in it.
    fn reason(&self, number: usize, cx: &Foresight<'_>, packet: PacketName) -> crate::explanation::Why {
        let name =
            self.config.diffserv.tins().find(|(_, index)| *index == number).map_or("-", |(name, _)| name);
        let tin = &self.tins[number];
        let first = match self.config.bandwidth {
            Some(_) if tin.clock <= cx.now => {
                why![
                    "tin ",
                    Value::Word(name),
                    ": used its part until ",
                    tin.clock,
                    " <= now, the highest such"
                ]
            }
            Some(_) => why!["tin ", Value::Word(name), ": used its part until ", tin.clock, ", the nearest"],
            None => why!["tin ", Value::Word(name), ": its turn among the tins"],
        };
        first.and(why!["; ", FlowId(packet.flow), " is first there with a deficit above 0"])
    }
}
