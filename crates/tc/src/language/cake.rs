//! `cake` and `cake_mq` (tc-cake(8)).

use lockgate_engine::units::Duration;

use super::sort::{Sort, U32};
use super::word::{Fixed, Meaning, When, Word, flag, only, rate, size, switch, time, value_of, word, words};
use super::{Classes, Language};
use crate::value::ValueType;

pub(super) const CAKE: Language = Language::new("cake", WORDS).keeps_settings().since(4, 19);

/// One `cake` for each transmit queue of the device.
pub(super) const CAKE_MQ: Language =
    Language { name: "cake_mq", ..CAKE }.since(7, 0).scenario("cake").classes(Classes::None);

const DEFAULT: &str = "it is the default";
const SINGLE: &str = "all packets are single frames";

/// Round-trip time by name.
const fn trip(name: &'static str, rtt: Duration) -> Word {
    flag(name).one_of("preset").once().sets(Meaning::Is("rtt", Fixed::Time(rtt)))
}

/// Line by name.
const fn line(name: &'static str) -> Word {
    flag(name).sets(Meaning::Line)
}

const fn ack_filter(name: &'static str, value: Fixed) -> Word {
    flag(name).sets(Meaning::Is("ack_filter", value))
}

const WORDS: &[Word] = words! {
    rate: "bandwidth".read_as(Sort::Rate);
    flag: "unlimited".left_out_of_scripts(DEFAULT) "autorate-ingress";
    time: "rtt";
    = trip("datacentre", Duration::from_micros(100));
    = trip("lan", Duration::from_millis(1));
    = trip("metro", Duration::from_millis(10));
    = trip("regional", Duration::from_millis(30));
    = trip("internet", Duration::from_millis(100));
    = trip("oceanic", Duration::from_millis(300));
    = trip("satellite", Duration::from_secs(1));
    = trip("interplanetary", Duration::from_secs(1000));
    value_of("diffserv"): "besteffort" "precedence";
    only(Sort::Flag): "diffserv";
    value_of("diffserv"): "diffserv3" "diffserv4" "diffserv8";
    only(Sort::Flag): "diffserv-llt";
    value_of("isolation"): "flowblind" "srchost" "dsthost" "hosts" "flows" "dual-srchost" "dual-dsthost"
        "triple-isolate";
    switch: "nat".left_out_when(When::Off, DEFAULT) "wash";
    flag: "ingress" "egress".clears(&["ingress"]).left_out(DEFAULT);
    = ack_filter("ack-filter", Fixed::Switch(true));
    = ack_filter("ack-filter-aggressive", Fixed::Choice("aggressive"));
    = ack_filter("no-ack-filter", Fixed::Switch(false));
    flag: "split-gso".left_out(SINGLE) "no-split-gso".left_out(SINGLE)
        "raw".clears(&["overhead", "mpu", "framing"]);
    line: "conservative".clears(&["overhead"]);
    value_of("framing"): "atm" "noatm" "ptm";
    = word("overhead", ValueType::Offset, Sort::Kept(-64, 256));
    size: "mpu".read_as(Sort::Kept(0, 256)) "memlimit";
    line: "ethernet";
    flag: "ether-vlan".sets(Meaning::Overhead(4));
    line: "docsis";
    only(Sort::Flag): "ether-fcs" "ether-all" "via-ethernet";
    line: "pppoe-ptm" "bridged-ptm" "pppoa-vcmux" "pppoa-llc" "pppoe-vcmux" "pppoe-llcsnap" "bridged-vcmux"
        "bridged-llcsnap" "ipoa-vcmux" "ipoa-llcsnap" "no_overhead".read_as(Sort::Unread).clears(&["overhead"]);
    = word("fwmark", ValueType::Mask, U32);
};
