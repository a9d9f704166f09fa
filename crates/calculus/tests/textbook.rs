//! Examples of textbooks and papers, worked out by hand.

use lockgate_calculus::{
    Arrival, Bucket, Exact, FairLaw, Flow, Hop, Kind, Line, Network, NoBound, Node, Server, Service, Theorem,
    TokenClass, TwoRates, analyse, ratio,
};

fn line(burst: u64, rate: u64) -> Line {
    Line { burst: ratio(burst, 1), rate: ratio(rate, 1) }
}

/// Returns a server with `kind` over so many FIFO queues; none: the kind itself takes the packets.
fn server(rate: u64, kind: Kind, children: usize) -> Server {
    let mut nodes = vec![Node { name: "root".to_owned(), parent: None, kind }];
    nodes.extend((0..children).map(|_| Node { name: "child".to_owned(), parent: Some(0), kind: Kind::Fifo }));
    let (rate, propagation, rounding) = (ratio(rate, 1), ratio(0, 1), ratio(0, 1));
    Server {
        name: "server".to_owned(),
        rate,
        propagation,
        rounding,
        slack: ratio(0, 1),
        ring: 1,
        nodes,
        even: true,
    }
}

/// Returns a flow of packets of `length` bits through these servers and their queues.
fn flow(length: u64, lines: &[Line], path: &[(usize, usize)]) -> Flow {
    let length = ratio(length, 1);
    let hop = |(server, node): &(usize, usize)| Hop {
        server: *server,
        node: *node,
        factor: ratio(1, 1),
        from_before: ratio(1, 1),
        shortest: length.clone(),
        longest: length.clone(),
        quickest: None,
    };
    Flow {
        name: "flow".to_owned(),
        arrival: Arrival::new(lines.to_vec()).ok_or_else(|| "".into()),
        shortest: length.clone(),
        longest: length.clone(),
        hops: path.iter().map(hop).collect(),
    }
}

fn delays(servers: Vec<Server>, flows: Vec<Flow>) -> Vec<Result<Exact, NoBound>> {
    analyse(&Network { servers, flows }).flows.into_iter().map(|flow| flow.delay).collect()
}

#[test]
fn a_variable_bit_rate_flow_has_the_bounds_of_le_boudec_and_thiran() {
    // Section 1.4.3: T-SPEC (p = 10, M = 1, r = 2, b = 9) into rate 5 after 3: d = (M + (b-M)/(p-r)
    // (p-R))/R + T, and as the burst has ended before T, v = b + r T.
    let arrival = Arrival::new(vec![line(1, 10), line(9, 2)]).expect("lines");
    let service = Service::rate_latency(ratio(5, 1), ratio(3, 1));
    assert_eq!(service.delay(&arrival), Some(ratio(6, 5) + ratio(3, 1)));
    assert_eq!(service.backlog(&arrival), Some(ratio(9 + 2 * 3, 1)));
    // Its output is that of r and b + r T, the peak being gone.
    let output = service.output(&arrival).expect("finite");
    assert_eq!(output.lines(), [line(15, 2)]);
    // At a rate below r no bound exists.
    assert_eq!(Service::constant(ratio(1, 1)).delay(&arrival), None);
}

#[test]
fn bursts_are_paid_only_once_in_a_tandem() {
    // Le Boudec and Thiran, section 1.4.3: the sum of two nodes pays b twice, the convolution once.
    let (one, two) =
        (Service::rate_latency(ratio(4, 1), ratio(2, 1)), Service::rate_latency(ratio(3, 1), ratio(1, 1)));
    let arrival = Arrival::bucket(ratio(12, 1), ratio(1, 1));
    assert_eq!(one.then(&two), Service::rate_latency(ratio(3, 1), ratio(3, 1)));
    assert_eq!(one.then(&two).delay(&arrival), Some(ratio(12, 3) + ratio(3, 1)));
    let between = one.output(&arrival).expect("finite");
    let apart = one.delay(&arrival).zip(two.delay(&between)).map(|(one, two)| one + two);
    // b/R1 + T1 + (b + r T1)/R2 + T2.
    assert_eq!(apart, Some(ratio(12, 4) + ratio(2, 1) + ratio(14, 3) + ratio(1, 1)));
    // Convex curves join segment by segment, by their slopes.
    let bent = one.less(&Arrival::new(vec![line(2, 3), line(6, 1)]).expect("lines"), &ratio(0, 1));
    let joined = bent.then(&two);
    for t in 0..40 {
        let t = ratio(t, 2);
        let split = |s: u64| bent.at(&(&t * ratio(s, 80))) + two.at(&(&t * ratio(80 - s, 80)));
        let least = (0..=80).map(split).min().expect("some");
        assert!(joined.at(&t) <= least, "at {t}");
    }
}

#[test]
fn fifo_is_the_sum_of_the_bursts_and_line_shaping_spares_the_second() {
    // Two flows of 1000 bits at once, and 100 bit/s: 2 s at 1000 bit/s.
    let buckets = [line(1000, 100)];
    let servers = || vec![server(1000, Kind::Fifo, 0), server(1000, Kind::Fifo, 0)];
    let both = || vec![flow(1000, &buckets, &[(0, 0), (1, 0)]), flow(1000, &buckets, &[(0, 0), (1, 0)])];
    let one = delays(servers(), vec![flow(1000, &buckets, &[(0, 0)]), flow(1000, &buckets, &[(0, 0)])]);
    assert_eq!(one, [Ok(ratio(2, 1)), Ok(ratio(2, 1))]);
    // At the second server they come one after the other: a packet waits for no other.
    assert_eq!(delays(servers(), both()), [Ok(ratio(3, 1)), Ok(ratio(3, 1))]);
}

#[test]
fn a_priority_class_waits_for_one_packet_and_for_those_above() {
    // 10 Mbit/s. High: 2 packets of 1000 bits, 1 Mbit/s. Middle: 1 packet of 2000 bits, 2 Mbit/s. Low:
    // 12000 bits.
    let kind = Kind::Priority(Vec::new());
    let flows = vec![
        flow(1000, &[line(2000, 1_000_000)], &[(0, 1)]),
        flow(2000, &[line(2000, 2_000_000)], &[(0, 2)]),
        flow(12_000, &[line(24_000, 4_000_000)], &[(0, 3)]),
    ];
    let bounds = delays(vec![server(10_000_000, kind, 3)], flows);
    // High: 12000 of the low packet, 2000 of its own.
    assert_eq!(bounds[0], Ok(ratio(14_000, 10_000_000)));
    // Middle: 12000 + 2000 at the 9 Mbit/s that are left until its last packet begins, which has the line.
    assert_eq!(bounds[1], Ok(ratio(14_000, 9_000_000) + ratio(2000, 10_000_000)));
    // Low: 2000 + 2000 of the higher ones and a packet of its own, at 7 Mbit/s, then its last packet.
    assert_eq!(bounds[2], Ok(ratio(16_000, 7_000_000) + ratio(12_000, 10_000_000)));
}

#[test]
fn deficit_rounds_withhold_the_quanta_and_deficits_of_the_others() {
    // Boyer, Stea and Mangoua Sofack: three equal quanta of 4000 bits, packets of up to 4000, at 12 kbit/s.
    // All packets are as long as the quantum: no deficit is left over.
    let kind = |quanta: [u64; 3]| Kind::DeficitRounds(quanta.iter().map(|bits| ratio(*bits, 1)).collect());
    let flows =
        |burst| (1..=3).map(|node| flow(4000, &[line(burst, 1000)], &[(0, node)])).collect::<Vec<_>>();
    // One packet: one of each other, and one more that is in service at the start. Then the packet itself.
    let bounds = delays(vec![server(12_000, kind([4000; 3]), 3)], flows(4000));
    assert_eq!(bounds[0], Ok(ratio(16_000, 12_000)));
    // Two packets: another round.
    let bounds = delays(vec![server(12_000, kind([4000; 3]), 3)], flows(8000));
    assert_eq!(bounds[0], Ok(ratio(28_000, 12_000)));
    // Quanta of 5000: up to 3000 bits are left over, as packets and quanta are multiples of 1000. Before
    // the first packet, twice 5000 + 3000 and the packet in service: 4000 at most.
    let bounds = delays(vec![server(12_000, kind([5000; 3]), 3)], flows(4000));
    let first = ratio(2 * 8000 + 4000, 1);
    assert_eq!(bounds[0], Ok((&first + ratio(4000, 1)) / ratio(12_000, 1)), "before the packet, and itself");
    // Two packets: the first may cost a turn, as the deficit left over is short of it. The second has the
    // line.
    let bounds = delays(vec![server(12_000, kind([5000; 3]), 3)], flows(8000));
    assert_eq!(bounds[0], Ok((first + ratio(4000 + 10_000 + 4000, 1)) / ratio(12_000, 1)));
}

#[test]
fn weighted_fair_queueing_is_late_by_one_packet() {
    // Parekh and Gallager: b/r + L_max/C. Weights 1 and 3 at 8000 bit/s, 1000 bits and 6000 bits.
    let flows =
        || vec![flow(1000, &[line(3000, 500)], &[(0, 1)]), flow(6000, &[line(6000, 1000)], &[(0, 2)])];
    let bounds = |law| delays(vec![server(8000, Kind::Fair(law, vec![1, 3]), 2)], flows());
    assert_eq!(bounds(FairLaw::Pgps)[0], Ok(ratio(3000, 2000) + ratio(6000, 8000)));
    // Golestani: the sum over the others instead, here the same single packet.
    assert_eq!(bounds(FairLaw::SelfClocked)[0], Ok(ratio(3000, 2000) + ratio(6000, 8000)));
    // Goyal, Vin and Cheng: the packet itself at the rate of the line.
    let start_time = ratio(2000, 2000) + ratio(6000, 8000) + ratio(1000, 8000);
    assert_eq!(bounds(FairLaw::StartTime)[0], Ok(start_time));
}

#[test]
fn deadlines_are_met_as_far_as_all_fit() {
    // 1000 bit/s; 1000 bits due in 3 s, and 2000 bits due in 8 s: blocked by 2000, the first needs 3 s.
    let kind = |millis: [u64; 2]| Kind::Deadlines(millis.iter().map(|millis| ratio(*millis, 1000)).collect());
    let flows = || vec![flow(1000, &[line(1000, 100)], &[(0, 1)]), flow(2000, &[line(2000, 100)], &[(0, 2)])];
    let bounds = delays(vec![server(1000, kind([3000, 8000]), 2)], flows());
    assert_eq!(bounds, [Ok(ratio(3, 1)), Ok(ratio(8, 1))]);
    // Two seconds tighter, both are late by that.
    let bounds = delays(vec![server(1000, kind([1000, 6000]), 2)], flows());
    assert_eq!(bounds, [Ok(ratio(3, 1)), Ok(ratio(8, 1))]);
    // Where both are due late, the line alone decides: all is sent within 3 s and what comes meanwhile.
    let bounds = delays(vec![server(1000, kind([9000, 9000]), 2)], flows());
    assert_eq!(bounds, [Ok(ratio(3, 1)), Ok(ratio(3, 1))]);
}

#[test]
fn a_shaper_adds_the_wait_for_tokens_and_a_policer_lowers_the_burst() {
    // 6000 bits at once through a bucket of 2000 bits and 1000 bit/s, then 8000 bit/s: 4 s for tokens, then
    // 1000 bits.
    let bucket = || vec![Bucket { burst: ratio(2000, 1), rate: ratio(1000, 1), granted: ratio(1000, 1) }];
    let flows = || vec![flow(1000, &[line(6000, 500)], &[(0, 0), (1, 0)])];
    let servers = |kind| vec![server(8000, kind, 0), server(8000, Kind::Fifo, 0)];
    let network = Network { servers: servers(Kind::Shaper(bucket())), flows: flows() };
    let bounds = analyse(&network);
    let steps = &bounds.flows[0].derivation.steps;
    assert_eq!(steps[0].theorem, Theorem::Shaper);
    assert_eq!(steps[0].delay, Ok(ratio(4, 1) + ratio(1000, 8000)));
    // Behind it a packet waits for none that the line has spaced.
    assert_eq!(steps[1].delay, Ok(ratio(1000, 8000)));
    let network = Network { servers: servers(Kind::Policer(bucket())), flows: flows() };
    assert_eq!(analyse(&network).flows[0].derivation.steps[0].delay, Ok(ratio(2000, 8000)));
}

#[test]
fn a_cycle_of_two_queues_has_the_bound_of_its_fixed_point() {
    // Flows from 0 to 1 and from 1 to 0: 1000 bits at once and 100 a second, lines of 1000. A queue receives
    // 1000 + 100 t and, from one line, the least of 1000 + 1000 t and B + 100 t: the last bit waits the
    // longest at t = (B - 1000) / 900, and D = 2 + t / 10. B = 1000 + 100 (D - 1), in whole bits 1102.
    let buckets = [line(1000, 100)];
    let around = vec![flow(1000, &buckets, &[(0, 0), (1, 0)]), flow(1000, &buckets, &[(1, 0), (0, 0)])];
    let fifo = (0..2).map(|_| server(1000, Kind::Fifo, 0)).collect();
    let bounds = analyse(&Network { servers: fifo, flows: around });
    let hop = ratio(2, 1) + ratio(102, 9000);
    for bound in &bounds.flows {
        assert!(bound.derivation.is_cyclic);
        assert_eq!(bound.derivation.total, Some(&hop + &hop));
        assert!(bound.delay.as_ref().is_ok_and(|delay| *delay <= &hop + &hop));
    }
}

/// Returns the delay of a flow of 1000 bits in the first child of a server, beside one in the second.
fn beside(server: Server) -> Result<Exact, NoBound> {
    let (own, other) = ([line(1000, 100)], [line(5000, 200)]);
    delays(vec![server], vec![flow(1000, &own, &[(0, 1)]), flow(1000, &other, &[(0, 2)])]).swap_remove(0)
}

#[test]
fn classes_and_curves_give_their_guarantees() {
    // HTB: the other class has 2000 bits of tokens, goes 1000 into debt, and one packet is in service: K =
    // 4000 at 1000 - 300. The own debt is paid after 1000 / 300, and the packet takes 1.
    let class = |burst| TokenClass {
        rate: ratio(300, 1),
        burst: ratio(burst, 1),
        ceiling_burst: ratio(burst, 1),
        priority: 0,
    };
    let htb = |own| server(1000, Kind::TokenClasses(vec![class(own), class(2000)]), 2);
    assert_eq!(beside(htb(2000)), Ok(ratio(10, 3) + ratio(40, 7) + ratio(1, 1)));
    // 300 * 40 / 7 bits come while it waits: a bucket of less loses some.
    let lost = beside(htb(1700));
    assert!(lost.as_ref().is_err_and(|why| why.as_str().contains("of 215 B")), "{lost:?}");
    // H-FSC: 1000 bits at 500 within the first 4 seconds, and one packet at 1000.
    let curve = |first, bend, second| TwoRates {
        first: ratio(first, 1),
        bend: ratio(bend, 1),
        second: ratio(second, 1),
    };
    let hfsc = |first| {
        server(1000, Kind::ServiceCurves(vec![Some(curve(first, 4, 100)), Some(curve(400, 0, 400))]), 2)
    };
    assert_eq!(beside(hfsc(500)), Ok(ratio(3, 1)));
    // 601 + 400 are more than the line.
    assert!(beside(hfsc(601)).is_err_and(|why| why.as_str().starts_with("overload")));
    // A shaper of 500 over strict priority: a packet's tokens, a lower packet's, and its own time on the
    // line.
    let mut shaped = server(1000, Kind::Priority(Vec::new()), 2);
    let bucket = Bucket { burst: ratio(4000, 1), rate: ratio(500, 1), granted: ratio(500, 1) };
    shaped
        .nodes
        .insert(0, Node { name: "shaper".to_owned(), parent: None, kind: Kind::Shaper(vec![bucket]) });
    shaped.nodes.iter_mut().skip(1).for_each(|node| node.parent = Some(node.parent.map_or(0, |_| 1)));
    let flows = vec![flow(1000, &[line(1000, 100)], &[(0, 2)]), flow(1000, &[line(5000, 200)], &[(0, 3)])];
    assert_eq!(delays(vec![shaped], flows)[0], Ok(ratio(5, 1)));
}

#[test]
fn what_has_no_theorem_says_why() {
    let buckets = [line(1000, 100)];
    let fifo = |count| (0..count).map(|_| server(1000, Kind::Fifo, 0)).collect::<Vec<_>>();
    let mut tcp = flow(1000, &buckets, &[(0, 0)]);
    tcp.arrival = Err("tcp".into());
    tcp.name = "bulk".to_owned();
    let bounds = delays(fifo(1), vec![flow(1000, &buckets, &[(0, 0)]), tcp.clone()]);
    assert_eq!(bounds[0], Err("`bulk` has no envelope and shares the queue".into()));
    assert_eq!(bounds[1], Err("tcp".into()));
    // Above it in priority, only its packet counts.
    tcp.hops[0].node = 2;
    let bounds =
        delays(vec![server(1000, Kind::Priority(Vec::new()), 2)], vec![flow(1000, &buckets, &[(0, 1)]), tcp]);
    assert_eq!(bounds[0], Ok(ratio(2, 1)));
    // Around a ring of eight at 90 %, each queue adds more jitter than the next one takes.
    let around = (0..8).map(|first| {
        let path: Vec<_> = (first..first + 7).map(|server| (server % 8, 0)).collect();
        flow(1000, &[line(1000, 128)], &path)
    });
    let bounds = delays(fifo(8), around.collect());
    assert!(bounds[0].as_ref().is_err_and(|why| why.as_str().starts_with("no fixed point")), "{bounds:?}");
    // A band that waits for tokens sends later than it receives: no bound below it.
    let mut shaped = server(1000, Kind::Priority(Vec::new()), 2);
    let rate = || ratio(100, 1);
    shaped.nodes[1].kind =
        Kind::Shaper(vec![Bucket { burst: ratio(1000, 1), rate: rate(), granted: rate() }]);
    let bounds = delays(vec![shaped], vec![flow(1000, &buckets, &[(0, 1)]), flow(1000, &buckets, &[(0, 2)])]);
    assert_eq!(bounds[1], Err("`child`, which goes before, may wait".into()));
    let over = delays(fifo(1), vec![flow(1000, &[line(1000, 2000)], &[(0, 0)])]);
    assert!(over[0].as_ref().is_err_and(|why| why.as_str().starts_with("overload")), "{over:?}");
}
