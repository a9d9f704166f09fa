use super::*;

/// Repeatable numbers, none of them special (a linear congruence).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % bound
    }
}

/// Returns a super-frame of TCP as a kernel passes it on, with its description: checksum of the pseudo-header
/// alone, lengths of the whole.
fn super_frame(is_ipv4: bool, has_tag: bool, options: usize, payload: usize, size: u16) -> (Vec<u8>, Header) {
    let mut frame = vec![0x02, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
    if has_tag {
        frame.extend([0x81, 0, 0x20, 100]);
    }
    frame.extend(if is_ipv4 { [8, 0] } else { [0x86, 0xdd] });
    let ip = frame.len();
    let length = tcp::LEAST + options + payload;
    if is_ipv4 {
        let [high, low] = ((length + 20) as u16).to_be_bytes();
        frame.extend([0x45, 0x02, high, low, 0xff, 0xfe, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        checksum::write_ipv4(&mut frame, ip, 20);
    } else {
        let [high, low] = (length as u16).to_be_bytes();
        frame.extend([0x60, 0x20, 0, 7, high, low, 6, 64]);
        frame.extend([0xfd; 32]);
    }
    let tcp = frame.len();
    let offset = ((tcp::LEAST + options) / 4) as u8;
    frame.extend([0x1f, 0x90, 0xc0, 0, 0xff, 0xff, 0xf0, 0, 1, 2, 3, 4, offset << 4]);
    frame.extend([tcp::ACK | tcp::PUSH, 1, 0, 0, 0, 0, 0]);
    frame.extend((0..options).map(|at| at as u8));
    let layout = Layout { ip, tcp, payload: frame.len() };
    frame.extend((0..payload).map(|at| (at * 7 + at / 251) as u8));
    let sum = checksum::pseudo_header(&frame, layout, length);
    set_word(&mut frame, tcp + tcp::CHECKSUM, sum);
    let header = Header {
        flags: NEEDS_CHECKSUM,
        kind: if is_ipv4 { TCP_4 } else { TCP_6 },
        headers: layout.payload as u16,
        payload: size,
        checksum_start: tcp as u16,
        checksum_offset: tcp::CHECKSUM as u16,
    };
    (frame, header)
}

fn split(header: Header, frame: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut segments = Vec::new();
    header
        .split(&mut frame.to_vec(), &mut Vec::new(), &mut |frame| segments.push(frame.to_vec()))
        .then_some(segments)
}

/// Returns the sum of 16-bit words as RFC 1071 defines it, word by word.
fn plain_sum(bytes: &[u8]) -> u16 {
    let words =
        bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | pair.get(1).map_or(0, |low| u32::from(*low)));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[test]
fn sums_are_those_of_the_definition() {
    let mut numbers = Numbers(1);
    for length in 0..200 {
        let bytes: Vec<u8> = (0..length).map(|_| numbers.below(256) as u8).collect();
        // Zero has two forms.
        assert_eq!(checksum::sum(&bytes) % 0xffff, plain_sum(&bytes) % 0xffff, "{length} bytes");
    }
    assert_eq!(checksum::sum(&vec![0xff; 1 << 16]), 0xffff);
}

#[test]
fn segments_are_whole_frames_and_join_to_what_they_were() {
    let mut numbers = Numbers(2);
    for case in 0..400 {
        let (is_ipv4, has_tag) = (case % 2 == 0, case % 3 == 0);
        let size = 1 + numbers.below(1_448);
        let payload = size + 1 + numbers.below((40 * size).min(60_000));
        let (frame, header) = super_frame(is_ipv4, has_tag, 4 * numbers.below(11), payload, size as u16);
        let segments = split(header, &frame).expect("it fits its description");
        assert_eq!(segments.len() as u64, header.segments(&frame, frame.len()));
        assert_eq!(segments.len(), payload.div_ceil(size));
        let headers = usize::from(header.headers);
        for (index, segment) in segments.iter().enumerate() {
            let tcp = usize::from(header.checksum_start);
            let ip = if has_tag { 18 } else { 14 };
            let length = (segment.len() - tcp) as u16;
            let addresses = if is_ipv4 { &segment[ip + 12..ip + 20] } else { &segment[ip + 8..ip + 40] };
            let pseudo = [addresses, &[0, 6], &length.to_be_bytes(), &segment[tcp..]].concat();
            assert_eq!(plain_sum(&pseudo), 0xffff, "checksum of segment {index}");
            if is_ipv4 {
                assert_eq!(plain_sum(&segment[ip..tcp]), 0xffff);
                assert_eq!(usize::from(word(segment, ip + 2)), segment.len() - ip);
                assert_eq!(word(segment, ip + 4), 0xfffe_u16.wrapping_add(index as u16));
            } else {
                assert_eq!(usize::from(word(segment, ip + 4)), segment.len() - tcp);
            }
            assert_eq!(sequence(segment, tcp), 0xffff_f000_u32.wrapping_add((index * size) as u32));
            let is_last = index + 1 == segments.len();
            assert_eq!(segment[tcp + tcp::FLAGS] & tcp::PUSH != 0, is_last);
        }
        let views: Vec<&[u8]> = segments.iter().map(Vec::as_slice).collect();
        let joined = Joined::of(&views).expect("joined");
        assert_eq!((joined.count(), joined.headers()), (segments.len(), headers));
        let payloads: Vec<u8> = segments.iter().flat_map(|segment| segment[headers..].to_vec()).collect();
        assert_eq!(joined.start()[..HEADER], header.bytes());
        assert!([&joined.start()[HEADER..], &payloads].concat() == frame, "case {case}");
    }
}

#[test]
fn what_a_receiver_would_see_changed_is_not_joined() {
    let count = |change: &dyn Fn(&mut Vec<Vec<u8>>)| {
        let (frame, header) = super_frame(true, false, 12, 4_000, 1_000);
        let mut segments = split(header, &frame).expect("segments");
        change(&mut segments);
        let views: Vec<&[u8]> = segments.iter().map(Vec::as_slice).collect();
        Joined::of(&views).map_or(1, |joined| joined.count())
    };
    // Writes a byte of a segment, and its checksums.
    let with = |index: usize, at: usize, byte: u8| {
        count(&|segments| {
            segments[index][at] = byte;
            checksum::write_ipv4(&mut segments[index], 14, 20);
            checksum::write(&mut segments[index], Layout { ip: 14, tcp: 34, payload: 66 });
        })
    };
    assert_eq!(count(&|_| {}), 4);
    for (at, what) in [(0, "address"), (15, "mark"), (18, "identification"), (22, "hops"), (26, "source")] {
        assert_eq!(with(2, at, 77), 2, "another {what}");
    }
    for (at, what) in
        [(35, "port"), (38, "sequence"), (42, "acknowledgement"), (49, "window"), (60, "option")]
    {
        assert_eq!(with(2, at, 77), 2, "another {what}");
    }
    assert_eq!(with(1, 47, tcp::ACK | tcp::PUSH), 2, "pushed");
    assert_eq!(with(1, 47, tcp::ACK | tcp::REDUCED), 1);
    assert_eq!(with(0, 47, tcp::ACK | tcp::FIN), 1);
    assert_eq!(with(1, 20, 0x20), 1, "a fragment");
    assert_eq!(count(&|segments| segments[2][500] ^= 1), 2, "damaged payload");
    assert_eq!(count(&|segments| segments[0][50] ^= 1), 1, "damaged checksum");
    assert_eq!(count(&|segments| segments[1][24] ^= 1), 1, "damaged checksum of the packet");
    assert_eq!(count(&|segments| segments[3].push(0)), 3, "padding");
    assert_eq!(count(&|segments| segments.swap(1, 2)), 1, "overtaken");
    assert_eq!(count(&|segments| drop(segments.remove(1))), 1, "lost");
}

#[test]
fn any_bytes_give_an_answer() {
    let mut numbers = Numbers(3);
    let mut fits = 0;
    for case in 0..20_000 {
        let (mut frame, header) = super_frame(case % 2 == 0, case % 3 == 0, 12, 3_000, 1_000);
        let mut bytes = header.bytes();
        for _ in 0..numbers.below(4) {
            match numbers.below(2) {
                0 => bytes[numbers.below(HEADER)] = numbers.below(256) as u8,
                _ => frame[numbers.below(90)] = numbers.below(256) as u8,
            }
        }
        frame.truncate(numbers.below(2 * frame.len()));
        if let Some(segments) = split(Header::read(bytes), &frame) {
            fits += 1;
            let views: Vec<&[u8]> = segments.iter().map(Vec::as_slice).collect();
            let _ = Joined::of(&views);
        }
        let _ = Header::read(bytes).segments(&frame, frame.len());
    }
    assert!(fits > 1_000, "most of it tests refusals only: {fits}");
}
