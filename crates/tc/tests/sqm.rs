//! `/etc/config/sqm` gives the queues that sqm-scripts set up, and names each option that they do not read.

use lockgate_tc::{Options, Request, convert};

fn converted(options: &str) -> Result<String, String> {
    let lines: Vec<String> = options.split(", ").map(|option| format!("\toption {option}\n")).collect();
    let text = format!("config queue 'wan'\n\toption interface 'wan'\n{}", lines.concat())
        .replace("option list", "list");
    let request = Request {
        text: &text,
        origin: "",
        definitions: &[],
        options: &Options::default(),
        rate: None,
        is_lenient: false,
    };
    convert(&request).map(|converted| converted.scenario).map_err(|problems| {
        problems.iter().map(|problem| problem.shown("sqm", &text)).collect::<Vec<_>>().join("\n")
    })
}

/// Returns the queues of a direction.
fn queues<'a>(scenario: &'a str, port: &str) -> &'a str {
    let start =
        scenario.find(&format!("[port.\"{port}\"]")).unwrap_or_else(|| panic!("no {port}: {scenario}"));
    let end = scenario[start + 1..].find("\n\n").map_or(scenario.len(), |end| start + 1 + end);
    &scenario[start..end]
}

/// Ports of the two directions.
const UP: &str = "here:there";
const DOWN: &str = "there:here";

/// Options of a section, one direction, and parts that its queues have and do not have.
const CASES: &[(&str, &str, &[&str], &[&str])] = &[
    // The first public case: tins up, none down, nothing washed, no `ingress`.
    (
        "qdisc 'cake', script 'layer_cake.qos', squash_dscp '0', squash_ingress '1', linklayer 'ethernet', overhead '18'",
        DOWN,
        &["bandwidth = \"90mbit\"", "diffserv = \"besteffort\"", "nat = true", "overhead = \"18B\""],
        &["wash", "ingress", "framing"],
    ),
    (
        "script 'layer_cake.qos', squash_ingress '1'",
        UP,
        &["diffserv = \"diffserv3\"", "nat = true"],
        &["wash"],
    ),
    ("script 'layer_cake.qos'", DOWN, &["besteffort", "wash = true"], &["ingress"]),
    (
        "script 'layer_cake.qos', squash_ingress '0', squash_dscp '0'",
        DOWN,
        &["diffserv3"],
        &["wash", "besteffort"],
    ),
    (
        "script 'piece_of_cake.qos', iqdisc_opts 'nat dual-dsthost ingress diffserv4'",
        DOWN,
        &["ingress = true", "isolation = \"dual-dsthost\"", "diffserv = \"diffserv4\"", "wash = true"],
        &["besteffort"],
    ),
    (
        "script 'piece_of_cake.qos', list eqdisc_opts 'nonat', list eqdisc_opts 'dual-srchost ack-filter'",
        UP,
        &["besteffort", "isolation = \"dual-srchost\"", "ack_filter = true"],
        &["wash", "nat = true"],
    ),
    ("script 'simple.qos', qdisc 'cake'", DOWN, &["kind = \"cake\"", "besteffort"], &["htb", "wash", "nat"]),
    ("script 'simple.qos', qdisc 'cake'", UP, &["kind = \"cake\""], &["htb", "besteffort"]),
    (
        "script 'simplest.qos', qdisc 'cake', linklayer 'atm', overhead '44', tcMPU '64'",
        UP,
        &["besteffort", "framing = \"atm\"", "overhead = \"44B\"", "mpu = \"64B\""],
        &["nat"],
    ),
    (
        "script 'simple.qos', qdisc 'fq_codel', squash_ingress '0', itarget '20ms', ilimit '500'",
        DOWN,
        &[
            "rate = \"32kbit\"",
            "ceil = \"30mbit\"",
            "ceil = \"89984kbit\"",
            "target = \"20ms\"",
            "limit = \"500p\"",
            "quantum = \"1500B\"",
            "quantum = \"11250B\"",
        ],
        &["cake"],
    ),
    (
        "script 'simple.qos', qdisc 'fq_codel'",
        DOWN,
        &["rate = \"90mbit\"", "target = \"5ms\"", "burst = \"11250B\""],
        &["32kbit"],
    ),
    (
        "script 'simple.qos', qdisc 'fq_codel', egress_ecn 'NOECN', etarget 'default'",
        UP,
        &[
            "rate = \"128kbit\"",
            "ceil = \"6mbit\"",
            "rate = \"3mbit\"",
            "ecn = false",
            "limit = \"1001p\"",
            "dscp",
        ],
        &["target"],
    ),
    (
        "script 'simplest_tbf.qos', qdisc 'cake'",
        UP,
        &["kind = \"tbf\"", "rate = \"18mbit\"", "burst = \"2250B\"", "kind = \"fq_codel\"", "ecn = true"],
        &["cake"],
    ),
    (
        "script 'simplest.qos', upload '1000', linklayer 'atm', overhead '44'",
        UP,
        &["target = \"13992us\"", "interval = \"108992us\"", "burst = \"1749B\"", "framing = \"atm\""],
        &["cake"],
    ),
];

/// What the options of a section give: parts of the queues up and down, and absent parts.
#[test]
fn each_script_sets_up_its_queues() {
    let on = "enabled '1', download '90000', upload '18000'";
    for (options, port, parts, absent) in CASES {
        let scenario =
            converted(&format!("{on}, {options}")).unwrap_or_else(|why| panic!("{options}\n{why}"));
        // Nothing but the reasons above is left out: the words of the scripts are all in the queues.
        assert!(!scenario.contains("nothing in a scenario has it"), "{options}\n{scenario}");
        let queues = queues(&scenario, port);
        for part in *parts {
            assert!(queues.contains(part), "{options}: no `{part}` in\n{queues}");
        }
        for part in *absent {
            assert!(!queues.contains(part), "{options}: `{part}` in\n{queues}");
        }
    }
}

/// Options that a script does not read, each with a part of the reason.
#[test]
fn each_option_without_effect_is_named() {
    let on = "enabled '1', download '90000', upload '18000', script";
    for (options, option, why) in [
        ("'layer_cake.qos'", "itarget '20ms'", "`rtt`"),
        ("'layer_cake.qos'", "ilimit '1000'", "no limit of `cake`"),
        ("'layer_cake.qos'", "ingress_ecn 'ECN'", "in any case"),
        ("'layer_cake.qos'", "qdisc 'fq_codel'", "`cake` in any case"),
        ("'layer_cake.qos'", "overhead '44'", "`linklayer` is `none`"),
        ("'layer_cake.qos', linklayer 'ethernet'", "tcTSIZE '512'", "without a table"),
        ("'piece_of_cake.qos'", "squash_ingress '1'", "one tier"),
        ("'simple.qos'", "squash_dscp '1'", "behind the queue"),
        ("'simplest.qos', qdisc 'sfq'", "etarget '5ms'", "no target"),
        ("'simple.qos'", "use_mq '1'", "one queue here"),
        ("'simple.qos'", "etarget 'soon'", "no time"),
        ("'simple.qos'", "debug_logging '0'", "log"),
        ("'simple.qos'", "verbosity '5'", "log"),
        ("'simple.qos'", "qdisc_advanced '1'", "web interface"),
        ("'simple.qos', upload '0'", "eqdisc_opts 'ecn'", "this direction"),
    ] {
        let scenario =
            converted(&format!("{on} {options}, {option}")).unwrap_or_else(|why| panic!("{option}\n{why}"));
        let line = scenario.lines().find(|line| line.contains(&format!("`option {option}`")));
        assert!(line.is_some_and(|line| line.contains(why)), "{option}\n{scenario}");
    }
}

#[test]
fn what_is_not_understood_is_said_in_the_words_of_the_file() {
    let script = "enabled '1', script 'layer_cake.qos', upload '1000', download '0'";
    for (options, parts) in [
        (
            format!("{script}, downlod '1'"),
            ["`downlod` is not an option of sqm-scripts", "did you mean `download`?"],
        ),
        (format!("{script}, colour 'red'"), ["`colour` is not an option", "there are `enabled`"]),
        (
            "enabled '0', script 'layer_cake.qos'".to_owned(),
            ["no section is enabled: `config queue 'wan'", "`option enabled '1'`"],
        ),
        ("script 'layer_cake.qos'".to_owned(), ["no section is enabled", "option script 'layer_cake.qos'"]),
        (
            "enabled '1', script 'fast.qos'".to_owned(),
            ["`script fast.qos` is not understood", "`simple.qos`"],
        ),
        (format!("{script}, iqdisc_opts 'x"), ["a quote `'` has no end", "sqm:"]),
        (
            "enabled '1', script 'simple.qos', upload 'fast'".to_owned(),
            ["no whole number of kbit/s", "upload"],
        ),
        (format!("{script}, eqdisc_opts 'diffsrv4'"), ["`diffsrv4` of `cake`", "did you mean `diffserv4`?"]),
    ] {
        let why = converted(&options).expect_err("a problem");
        for part in parts {
            assert!(why.contains(part), "{options}: {why}");
        }
    }
}

/// What `uci show sqm` prints is the configuration in other words.
#[test]
fn a_printed_configuration_is_that_of_the_file() {
    let file = "config queue 'wan'\n\toption enabled '1'\n\toption interface 'eth1'\n\toption download '90000'\n\
                \toption upload '18000'\n\toption script 'layer_cake.qos'\n\tlist eqdisc_opts 'nat'\n\
                \tlist eqdisc_opts 'ack-filter'\n\toption iqdisc_opts 'nat dual-dsthost'\n";
    for section in ["wan", "@queue[0]"] {
        let shown = "sqm.S=queue\nsqm.S.enabled='1'\nsqm.S.interface='eth1'\nsqm.S.download='90000'\n\
                     sqm.S.upload='18000'\nsqm.S.script='layer_cake.qos'\nsqm.S.eqdisc_opts='nat' 'ack-filter'\n\
                     sqm.S.iqdisc_opts='nat dual-dsthost'\nsqm.other=global\nsqm.other.enabled='0'\n";
        let shown = shown.replace(".S", &format!(".{section}"));
        let [one, other] = [file, &shown].map(|text| {
            let options = Options::default();
            let request = Request {
                text,
                origin: "",
                definitions: &[],
                options: &options,
                rate: None,
                is_lenient: false,
            };
            let converted = convert(&request).unwrap_or_else(|problems| panic!("{problems}\n{text}"));
            let lines = converted.scenario.lines().filter(|line| !line.starts_with('#'));
            lines.collect::<Vec<_>>().join("\n")
        });
        assert_eq!(one, other);
        assert!(one.contains("ack_filter = true"), "{one}");
    }
}
