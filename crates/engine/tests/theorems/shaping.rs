//! The envelope of a token bucket, from above and from below, also while it is being changed.

use lockgate_engine::classify::NoHeaders;
use lockgate_engine::packet::Header;
use lockgate_engine::port::Port;
use lockgate_engine::random::{Random, Seed};
use lockgate_engine::units::{Duration, Instant, PICOS_PER_SECOND, Rate};
use serde_json::{Value, json};

use crate::common::kind;
use crate::common::link::{Link, Sent};
use crate::{between, random};

/// So fast that packets leave when they are released.
const WIRE: Rate = Rate::from_bits(u64::MAX);
/// Bit-picoseconds of a byte: work is counted in them, exactly.
const BYTE: u128 = 8 * PICOS_PER_SECOND as u128;

fn link(config: &Value) -> Link {
    link_of("tbf", config)
}

fn link_of(name: &str, config: &Value) -> Link {
    let root = kind::build(name, "shaper", config, Vec::new()).expect("valid");
    Link::new(Port::new(root, Random::stream(Seed(1), "port")), WIRE)
}

fn packet(length: u64) -> Header {
    Header { length: length as u32, ..Header::default() }
}

/// The fullest that a leaky bucket of this rate gets, in bit-picoseconds: the least burst that the
/// departures keep to.
fn fullest(sent: &[Sent], rate: u64) -> u128 {
    let (mut level, mut fullest, mut last) = (0_u128, 0, Instant::ZERO);
    for sent in sent {
        let leaked = u128::from(rate) * u128::from(sent.at.since(last).as_picos());
        level = level.saturating_sub(leaked) + u128::from(sent.packet.length) * BYTE;
        last = sent.at;
        fullest = fullest.max(level);
    }
    fullest
}

#[test]
fn departures_keep_to_the_envelope_of_both_buckets() {
    let (mut worst, mut worst_peak) = (0.0_f64, 0.0_f64);
    for trial in 0..60 {
        let mut random = random("envelope", trial);
        let rate = between(&mut random, 64_000, 50_000_000);
        let burst = between(&mut random, 1514, 20_000);
        let peak =
            (trial % 2 == 0).then(|| (rate * between(&mut random, 1, 20), between(&mut random, 1514, 3_000)));
        let mut config =
            json!({ "rate": format!("{rate}bit"), "burst": format!("{burst}B"), "limit": "200p" });
        if let Some((peakrate, mtu)) = peak {
            config["peakrate"] = json!(format!("{peakrate}bit"));
            config["mtu"] = json!(format!("{mtu}B"));
        }
        let mut link = link(&config);
        let mut now = Instant::ZERO;
        for _ in 0..2_000 {
            // Bursts, a steady stream about as fast as the shaper, and silences that fill the bucket.
            let gap = match random.below(20) {
                0 => Duration::from_picos(burst * 8 * PICOS_PER_SECOND / rate * 2),
                1..10 => Duration::from_picos(u64::from(random.below(1_000_000))),
                _ => Rate::from_bits(rate).time_for(lockgate_engine::units::Bytes(between(
                    &mut random,
                    1,
                    2_000,
                ))),
            };
            now = now + gap;
            link.offer(packet(between(&mut random, 1, 1514)), now);
        }
        link.drain();
        // A bucket's depth is rounded up to a picosecond of its rate.
        let full = fullest(&link.sent, rate);
        assert!(full <= u128::from(burst) * BYTE + u128::from(rate), "trial {trial}");
        worst = worst.max(full as f64 / (u128::from(burst) * BYTE) as f64);
        if let Some((peakrate, mtu)) = peak {
            let full = fullest(&link.sent, peakrate);
            assert!(full <= u128::from(mtu) * BYTE + u128::from(peakrate), "trial {trial}, peak");
            worst_peak = worst_peak.max(full as f64 / (u128::from(mtu) * BYTE) as f64);
        }
    }
    println!("envelope: {worst:.6} of the burst, {worst_peak:.6} of the mtu");
    assert!(worst > 0.999 && worst_peak > 0.99, "the traffic tries nothing");
}

/// Keeps the shaper saturated for `until`, changing it to the next of `configs` every `every`; returns
/// what left.
fn saturated(configs: &[Value], every: Duration, until: Instant, random: &mut Random) -> Vec<Sent> {
    let mut link = link(&configs[0]);
    let (mut change, mut count) = (Instant::ZERO + every, 0);
    while link.next_event().is_none_or(|at| at <= until) {
        while link.port.backlog().packets < 20 {
            let now = link.sent.last().map_or(Instant::ZERO, |sent| sent.at);
            link.offer(packet(between(random, 40, 1514)), now);
        }
        let next = link.next_event().expect("it is saturated");
        if next < change {
            link.step(next);
            continue;
        }
        count += 1;
        let config = &configs[count % configs.len()];
        let answer = link.port.with_node("shaper", change, &NoHeaders, &mut |node, cx| {
            kind::reconfigure(node, config, &[], cx)
        });
        answer.expect("there is one").expect("valid");
        // The change may have made the next packet ready.
        link.step(change);
        change = change + every;
    }
    link.sent
}

/// Checks that at all times up to `until` at least `credit + rate * t` bytes less one packet have left;
/// returns the largest shortfall as a share of that packet.
fn check_delivery(sent: &[Sent], rate: u64, credit: u64, until: Instant) -> f64 {
    let (mut delivered, mut worst) = (0_u128, 0.0_f64);
    let packet = 1514 * BYTE;
    let ends = sent.iter().map(|sent| (sent.at, sent.packet.length)).chain([(until, 0)]);
    for (count, (at, length)) in ends.enumerate() {
        // Just before a packet leaves, once the first burst is out. Every packet's cost is rounded up by less than a picosecond.
        let due = u128::from(credit) * BYTE + u128::from(rate) * u128::from(at.as_picos());
        let slack = u128::from(rate) * (count as u128 + 1);
        if at > Instant::from_picos(1_000_000) {
            assert!(delivered + packet + slack >= due, "{delivered} of {due} delivered at {at}");
            worst = worst.max((due as f64 - delivered as f64) / packet as f64);
        }
        delivered += u128::from(length) * BYTE;
    }
    worst
}

#[test]
fn a_saturated_shaper_delivers_its_rate() {
    let mut worst = f64::MIN;
    for trial in 0..20 {
        let mut random = random("saturated", trial);
        let rate = between(&mut random, 100_000, 20_000_000);
        let burst = between(&mut random, 1514, 5_000);
        let mut config =
            json!({ "rate": format!("{rate}bit"), "burst": format!("{burst}B"), "limit": "200p" });
        if trial % 2 == 0 {
            config["peakrate"] = json!(format!("{}bit", rate * 3 / 2));
            config["mtu"] = json!("1514B");
        }
        // The bucket is full at first: its burst is due besides, unless the peak rate holds it back.
        let credit = if trial % 2 == 0 { 0 } else { burst };
        let until = Instant::ZERO + Duration::from_secs(2);
        let sent = saturated(&[config], Duration::from_secs(1), until, &mut random);
        assert!(sent.len() > 20);
        worst = worst.max(check_delivery(&sent, rate, credit, until));
    }
    println!("delivery: {worst:.3} of the shortfall that is allowed");
}

#[test]
fn a_shaper_keeps_its_tokens_through_any_number_of_changes() {
    // A byte takes 80 us, and a change comes every 50 us: nothing may be lost or won by rounding.
    let mut random = random("changes", 0);
    let config = json!({ "rate": "100kbit", "burst": "1514B", "limit": "200p" });
    let until = Instant::ZERO + Duration::from_secs(2);
    let sent = saturated(&[config], Duration::from_micros(50), until, &mut random);
    let shortfall = check_delivery(&sent, 100_000, 1514, until);
    let full = fullest(&sent, 100_000);
    assert!(full <= 1514 * BYTE + 100_000);
    println!("delivery under changes: {shortfall:.3}");
    // From one rate to another and back, each is had half of the time.
    let configs = [100_000, 300_000]
        .map(|rate| json!({ "rate": format!("{rate}bit"), "burst": "1514B", "limit": "200p" }));
    let sent = saturated(&configs, Duration::from_micros(70), until, &mut random);
    check_delivery(&sent, 200_000, 1500, until);
    let full = fullest(&sent, 200_000);
    assert!(full <= 1530 * BYTE, "{full}");
}

#[test]
fn clicks_shaper_lets_two_seconds_of_its_rate_go_at_once_and_no_more() {
    let mut worst = 0.0_f64;
    for trial in 0..60 {
        let mut random = random("by the second", trial);
        let rate = between(&mut random, 20_000, 400_000);
        let config = json!({ "rate": format!("{rate}bit"), "limit": "100000p" });
        let mut link = link_of("bandwidth-shaper", &config);
        let mut now = Instant::from_picos(between(&mut random, 0, 999) * PICOS_PER_SECOND / 1000);
        for _ in 0..20 {
            // A packet soon after a second began, silence almost to the end of a second, and a flood.
            let began = now.as_picos() / PICOS_PER_SECOND + 1 + between(&mut random, 0, 2);
            now = Instant::from_picos(began * PICOS_PER_SECOND)
                + Duration::from_micros(between(&mut random, 1, 9));
            link.offer(packet(between(&mut random, 1, 1514)), now);
            let silence = between(&mut random, 900, 1_999);
            now = now + Duration::from_millis(silence);
            for _ in 0..rate * between(&mut random, 0, 4) / 8 / 700 {
                link.offer(packet(between(&mut random, 40, 1514)), now);
            }
            now = now + Duration::from_millis(between(&mut random, 0, 8_000));
        }
        link.drain();
        let full = fullest(&link.sent, rate);
        let burst = (2 * u128::from(rate) + 8 * 1514) * u128::from(PICOS_PER_SECOND);
        assert!(full <= burst, "trial {trial}: {full} is over {burst}");
        worst = worst.max(full as f64 / burst as f64);
    }
    println!("bandwidth-shaper: burst {worst:.3} of two seconds and a packet");
    assert!(worst > 0.95, "the traffic tries nothing");
}

#[test]
fn clicks_shaper_delivers_its_rate_when_saturated() {
    let mut random = random("saturated by the second", 0);
    let rate = 300_000_u64;
    let mut link = link_of("bandwidth-shaper", &json!({ "rate": format!("{rate}bit") }));
    let mut sent = 0;
    for _ in 0..3_000 {
        while link.port.backlog().packets < 3 {
            let now = link.sent.last().map_or(Instant::ZERO, |sent| sent.at);
            link.offer(packet(between(&mut random, 1, 1514)), now);
        }
        link.step(link.next_event().expect("it is saturated"));
        let Some(last) = link.sent.get(sent) else { continue };
        sent = link.sent.len();
        let served: u128 = link.sent.iter().map(|sent| u128::from(sent.packet.length)).sum();
        let due = u128::from(rate) * u128::from(last.at.as_picos());
        assert!(served * BYTE >= due, "{served} bytes by {}", last.at);
        assert!((served - u128::from(last.packet.length)) * BYTE <= due, "{served} bytes by {}", last.at);
    }
}
