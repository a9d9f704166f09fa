use super::*;

/// Laws of an interface behind which the kernel routes, and before which it does.
const EGRESS: Laws = Laws {
    takes_arrivals: false,
    owns_departures: true,
    is_in_driver: false,
    sends: true,
    is_device: false,
    is_tunnel: false,
};
const INGRESS: Laws = Laws {
    takes_arrivals: true,
    owns_departures: false,
    is_in_driver: false,
    sends: false,
    is_device: false,
    is_tunnel: false,
};

/// Router whose counters advance as its frames do.
struct Line {
    audit: Audit,
    now: Reading,
    readings: u32,
}

impl Line {
    fn new(laws: Laws) -> Self {
        let now = Reading { near: Some(FrameCounts::default()), is_held: true, ..Reading::default() };
        let mut line = Self { audit: Audit::new(laws), now, readings: 0 };
        line.read();
        line
    }

    fn near(&mut self) -> &mut FrameCounts {
        self.now.near.as_mut().expect("a pair")
    }

    /// Frames that pass the router as they should.
    fn pass(&mut self, frames: u64) {
        self.now.interface.received += frames;
        self.now.counts.redirected += frames;
        self.near().sent += frames;
        self.now.received += frames;
        self.now.sent += frames;
        self.now.interface.sent += frames;
        self.near().received += frames;
    }

    fn read(&mut self) -> Vec<Fault> {
        self.readings += 1;
        self.audit.read(self.now)
    }

    /// Repeats a reading, until it has faults. Returns them, and the number of readings.
    fn until(&mut self, mut advance: impl FnMut(&mut Self)) -> (Vec<Fault>, u32) {
        for number in 1..100 {
            advance(self);
            let faults = self.read();
            if !faults.is_empty() {
                return (faults, number);
            }
        }
        (Vec::new(), 100)
    }
}

#[test]
fn nothing_is_said_of_a_router_that_works() {
    for laws in [EGRESS, INGRESS, Laws { is_device: true, ..INGRESS }, Laws { is_device: true, ..EGRESS }] {
        let mut line = Line::new(laws);
        let mut seed = 7_u64;
        for _ in 0..10_000 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let burst = (seed >> 33) % 30_000 * u64::from(seed >> 60 < 9);
            line.pass(burst);
            // Frames on their way: counted by the first counter of each law, not yet by the second.
            let late = ((seed >> 20) % 1_900).min(burst);
            let mut now = line.now;
            now.counts.redirected -= late;
            // A third of a reading's frames wait before the port.
            now.received -= late + ((seed >> 40) % 600).min((burst - late) / 3);
            now.interface.sent -= late;
            assert_eq!(line.audit.read(now), [], "{late} of {burst}");
        }
        assert_eq!((line.audit.around(), line.audit.lost_inside()), (0, 0));
    }
}

#[test]
fn a_device_may_count_late_and_segments_may_be_joined_or_divided() {
    let mut line = Line::new(Laws { is_device: true, ..INGRESS });
    for number in 0..400_u64 {
        line.pass(1_000);
        let mut now = line.now;
        // It counts once a second.
        now.interface.received = 1_000 * (number / 4 * 4);
        now.interface.sent = now.interface.received;
        assert_eq!(line.audit.read(now), [], "{number}");
    }
    // A tunnel whose process is slow holds a thousand packets, which are counted when it comes to them; first
    // 600 that the kernel sent before the router had the line.
    let mut line = Line::new(Laws { is_device: true, is_tunnel: true, ..EGRESS });
    for number in 0..400_u64 {
        let counted = line.now.interface.sent;
        line.pass(if number % 40 < 4 { 250 } else { 2 });
        line.now.interface.sent = if number % 40 < 20 { counted + 1 } else { 600 + line.now.sent };
        line.now.interface.sent += 600 * u64::from(number == 2);
        assert_eq!(line.read(), [], "{number}");
    }
    let (faults, readings) = line.until(|line| line.now.interface.sent += 500);
    assert!(matches!(faults[..], [Fault::Around(Side::Out, 1..)]) && readings <= 9, "{faults:?} {readings}");
    // A veth that carries segments of 64 kB, each of which the router gets as 44 frames.
    let mut line = Line::new(INGRESS);
    for _ in 0..400 {
        line.pass(44);
        line.now.interface.received -= 43;
        assert_eq!(line.read(), []);
    }
    // Then another program has all: said in time although the counters differed by thousands.
    let (faults, readings) = line.until(|line| line.now.interface.received += 1);
    assert!(matches!(faults[..], [Fault::Around(Side::In, 1..)]) && readings <= 4, "{faults:?} {readings}");
}

#[test]
fn frames_that_pass_around_are_counted_and_said_in_time() {
    for (laws, side) in [(INGRESS, Side::In), (EGRESS, Side::Out)] {
        for share in [1, 2, 5, 10] {
            let mut line = Line::new(laws);
            line.pass(1_000);
            line.read();
            let mut around = 0;
            let (faults, readings) = line.until(|line| {
                line.pass(1_000 - 1_000 / share);
                around += 1_000 / share;
                line.now.interface.received += 1_000 / share;
                line.now.interface.sent += 1_000 / share;
            });
            assert_eq!(faults, [Fault::Around(side, around)], "one of {share}");
            assert!(readings <= 3 + 2 * u32::try_from(share).unwrap_or(0), "one of {share}: {readings}");
            // Once it has ended, it is not a fault any more, and stays counted.
            for _ in 0..=QUIET {
                line.pass(10);
                line.read();
            }
            assert_eq!((line.read(), line.audit.around()), (vec![], around));
        }
    }
}

#[test]
fn frames_lost_on_their_way_to_the_port_are_counted_to_the_frame() {
    for share in [750, 500, 300, 200, 100] {
        let mut line = Line::new(EGRESS);
        line.pass(1_000);
        line.read();
        let mut lost = 0;
        let mut drop_some = |line: &mut Line| {
            line.pass(1_000 - share);
            lost += share;
            line.now.counts.redirected += share;
        };
        let (faults, readings) = line.until(&mut drop_some);
        let is_most = matches!(faults[..], [Fault::SomeLost(1.., true)]);
        assert!(
            matches!(faults[..], [Fault::SomeLost(1.., _)]) && is_most == (share > 500),
            "{share}: {faults:?}"
        );
        assert!(INTERVAL * readings < Duration::from_secs(2), "{share} of 1000: {readings}");
        (0..10).for_each(|_| {
            drop_some(&mut line);
            line.read();
        });
        // The kernel gets the line; those on their way still count. Then it is over, and they stay counted.
        line.now.is_held = false;
        (0..=QUIET + 3).for_each(|_| drop(line.read()));
        line.now.is_held = true;
        line.pass(10);
        assert_eq!((line.read(), line.audit.lost_inside()), (vec![], lost), "{share} of 1000");
    }
}

/// The kernel's counters are those of a time before the router's: others held the lock of interfaces.
#[test]
fn a_reading_that_took_long_shows_no_leak_and_hides_none() {
    for (laws, is_known) in [EGRESS, INGRESS].into_iter().flat_map(|laws| [(laws, true), (laws, false)]) {
        let (mut line, mut said) = (Line::new(laws), 0);
        for number in 0..2_000_u64 {
            let late = if number % 7 == 0 { number * 37 % 40_000 } else { number % 11 };
            line.pass(5_000);
            let mut now = line.now;
            line.pass(late);
            now.counts = line.now.counts;
            (now.received, now.sent) = (line.now.received, line.now.sent);
            now.skew = if is_known { late } else { 0 };
            said += line.audit.read(now).len();
        }
        assert_eq!((said == 0, line.audit.around() == 0), (is_known, is_known), "{said}");
        let mut around = 0;
        let (faults, readings) = line.until(|line| {
            line.pass(900);
            around += 100;
            line.now.interface.received += 100;
            line.now.interface.sent += 100;
        });
        assert!(
            !is_known || matches!(faults[..], [Fault::Around(_, frames)] if frames == around),
            "{faults:?}"
        );
        assert!(readings <= 40, "{readings}");
    }
}

#[test]
fn frames_that_never_leave_are_said_in_time() {
    type Advance = fn(&mut Line);
    let redirect: Advance = |line| line.now.counts.redirected += 1;
    let hand: Advance = |line| line.now.sent += 1;
    for (advance, fault) in [(redirect, Fault::NoneArrives), (hand, Fault::NoneLeaves)] {
        for laws in [EGRESS, INGRESS] {
            let mut line = Line::new(laws);
            line.pass(5);
            line.read();
            let (faults, readings) = line.until(advance);
            assert_eq!(faults, std::slice::from_ref(&fault));
            assert!(INTERVAL * readings < Duration::from_secs(2), "{readings}");
            line.pass(5);
            assert_eq!(line.read(), [], "it goes on");
            let lost =
                if fault == Fault::NoneArrives { line.now.counts.redirected - line.now.received } else { 0 };
            (0..3).for_each(|_| drop(line.read()));
            assert_eq!(line.audit.lost_inside(), lost, "those that never arrived are counted");
        }
    }
    let mut line = Line::new(EGRESS);
    line.now.counts.redirected += 1;
    assert_eq!(line.until(|_| {}).0, [], "one frame is no proof");
}

#[test]
fn frames_that_take_the_kernels_way_are_no_leak() {
    let mut line = Line::new(EGRESS);
    line.pass(10);
    line.read();
    for held in [false, false, false, true, true, true, true] {
        line.now.is_held = held;
        line.now.interface.sent += 1_000;
        line.now.counts.passed += 1_000;
        assert_eq!(line.read(), []);
    }
}
