//! Boxes of packets: a set of numbers for each field.

use lockgate_engine::classify::{PROTOCOL_OTHER, Prefix, Rule};

use crate::field::{Field, TCP, other_ports, span, version, without_ports};
use crate::spans::Spans;

/// Box of packets: those whose fields are each in a set.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Region {
    fields: [Spans; Field::COUNT],
}

impl Default for Region {
    fn default() -> Self {
        Self::all()
    }
}

impl Region {
    /// Returns the box of every packet.
    pub fn all() -> Self {
        Self { fields: Field::ALL.map(|field| Spans::up_to(field.most())) }
    }

    /// Returns the box of the packets that a rule takes; its flows by their numbers.
    pub fn of_rule(rule: &Rule) -> Self {
        let mut region = Self::all();
        let prefixes = [(Field::Source, rule.source), (Field::Destination, rule.destination)];
        for (field, prefix) in prefixes {
            if let Some(prefix) = prefix {
                region.require_prefix(field, prefix);
            }
        }
        let ports =
            [(Field::SourcePort, &rule.source_port), (Field::DestinationPort, &rule.destination_port)];
        for (field, ports) in ports {
            if let Some(ports) = ports {
                region.require(field, &Spans::range((*ports.start()).into(), (*ports.end()).into()));
            }
        }
        if let Some(length) = &rule.length {
            region.require(Field::Length, &Spans::range((*length.start()).into(), (*length.end()).into()));
        }
        if let Some(protocol) = rule.protocol {
            region.require(Field::Protocol, &Spans::one(protocol.into()));
        }
        if let Some(label) = rule.flow_label {
            region.require(Field::FlowLabel, &Spans::one(label.into()));
        }
        if let Some(codes) = &rule.dscp {
            region
                .require(Field::Dscp, &Spans::of(codes.iter().map(|code| ((*code).into(), (*code).into()))));
        }
        if rule.tcp_flags.is_some() || rule.tcp_flags_clear.is_some() {
            let (set, clear) = (rule.tcp_flags.unwrap_or(0), rule.tcp_flags_clear.unwrap_or(0));
            let meant = (0..=u8::MAX).filter(|flags| flags & set == set && flags & clear == 0);
            region.require(Field::TcpFlags, &Spans::of(meant.map(|flags| (flags.into(), flags.into()))));
        }
        if let Some(flows) = &rule.flows {
            region.require(Field::Flow, &Spans::of(flows.iter().map(|flow| (flow.0.into(), flow.0.into()))));
        }
        region
    }

    /// Requires an address of a prefix, and its version of IP.
    fn require_prefix(&mut self, field: Field, prefix: Prefix) {
        let (low, high) = span(prefix);
        self.require(Field::Version, &Spans::one(version(prefix.address)));
        self.require(field, &Spans::range(low, high));
    }

    /// Returns the numbers of a field.
    pub fn field(&self, field: Field) -> &Spans {
        &self.fields[field as usize]
    }

    /// Sets the numbers of a field.
    #[must_use]
    pub fn with(mut self, field: Field, spans: Spans) -> Self {
        self.fields[field as usize] = spans;
        self
    }

    /// Takes out the packets whose field is not in a set.
    pub fn require(&mut self, field: Field, spans: &Spans) {
        let own = &mut self.fields[field as usize];
        *own = own.and(spans);
    }

    /// Returns true if the field has a condition.
    pub fn is_bound(&self, field: Field) -> bool {
        *self.field(field) != Spans::up_to(field.most())
    }

    /// Returns true if it has no packet.
    pub fn is_empty(&self) -> bool {
        self.fields.iter().any(Spans::is_empty)
    }

    /// Returns true if both have a packet.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.fields.iter().zip(&other.fields).all(|(one, other)| one.overlaps(other))
    }

    /// Returns the packets of both; `None` if there are none.
    pub fn and(&self, other: &Self) -> Option<Self> {
        if !self.overlaps(other) {
            return None;
        }
        let mut both = self.clone();
        for (own, other) in both.fields.iter_mut().zip(&other.fields) {
            *own = own.and(other);
        }
        Some(both)
    }

    /// Returns true if it has every packet of the other.
    pub fn covers(&self, other: &Self) -> bool {
        self.fields.iter().zip(&other.fields).all(|(own, other)| other.without(own).is_empty())
    }

    /// Returns the packets that the other does not have, as disjoint boxes: at most one a field.
    pub fn without(&self, other: &Self) -> Vec<Self> {
        if !self.overlaps(other) {
            return vec![self.clone()];
        }
        let (mut left, mut rest) = (Vec::new(), self.clone());
        for field in Field::ALL {
            let outside = rest.field(field).without(other.field(field));
            if !outside.is_empty() {
                left.push(rest.clone().with(field, outside));
                rest.require(field, other.field(field));
            }
        }
        left
    }

    /// Returns true if it has the packet of these numbers.
    pub fn contains(&self, numbers: &[u128; Field::COUNT]) -> bool {
        self.fields.iter().zip(numbers).all(|(spans, number)| spans.contains(*number))
    }
}

/// Packets that there are, as disjoint boxes.
#[derive(Clone, Debug)]
pub struct Space(Vec<Region>);

impl Space {
    /// Returns the packets that a network has: only some protocols have ports, only TCP has flags.
    pub fn packets() -> Self {
        let (none, all) = (Spans::one(0), Region::all());
        let with = |region: &Region, protocols: Spans, has_ports: bool, has_flags: bool| {
            let mut region = region.clone().with(Field::Protocol, protocols);
            for (field, has) in [
                (Field::SourcePort, has_ports),
                (Field::DestinationPort, has_ports),
                (Field::TcpFlags, has_flags),
            ] {
                if !has {
                    region = region.with(field, none.clone());
                }
            }
            region
        };
        let versions = [
            all.clone()
                .with(Field::Version, Spans::one(4))
                .with(Field::Source, Spans::up_to(u32::MAX.into()))
                .with(Field::Destination, Spans::up_to(u32::MAX.into()))
                .with(Field::FlowLabel, none.clone()),
            all.clone().with(Field::Version, Spans::one(6)),
        ];
        let parts = versions.iter().flat_map(|version| {
            [
                with(version, Spans::one(TCP.into()), true, true),
                with(version, other_ports(), true, false),
                with(version, without_ports(), false, false),
            ]
        });
        let mut parts: Vec<Region> = parts.collect();
        let mut other = with(&all, Spans::one(PROTOCOL_OTHER.into()), false, false);
        for field in [Field::Version, Field::Source, Field::Destination, Field::FlowLabel, Field::Dscp] {
            other = other.with(field, none.clone());
        }
        parts.push(other);
        Self(parts)
    }

    /// Returns the packets of IPv4.
    pub fn ipv4() -> Self {
        let Self(mut parts) = Self::packets();
        parts.retain(|part| part.field(Field::Version).contains(4));
        Self(parts)
    }

    /// Returns every combination of fields that a frame may have whatever its headers mean: `u32` of Linux
    /// compares bytes.
    pub fn frames() -> Self {
        let v4 = |region: Region| {
            region
                .with(Field::Version, Spans::one(4))
                .with(Field::Source, Spans::up_to(u32::MAX.into()))
                .with(Field::Destination, Spans::up_to(u32::MAX.into()))
        };
        let others = Spans::of([(0, 3), (5, 6)]);
        Self(vec![v4(Region::all()), Region::all().with(Field::Version, others)])
    }

    /// Returns its boxes.
    pub fn parts(&self) -> &[Region] {
        &self.0
    }

    /// Returns true if it has a packet of the box.
    pub fn has(&self, region: &Region) -> bool {
        self.0.iter().any(|part| part.overlaps(region))
    }
}
