use super::*;

fn expanded(text: &str) -> (String, Vec<Problem>, Groups) {
    let root = DeTable::parse(text).expect("TOML").into_inner();
    let rows = Rows::read("Name,Download Max Mbps\na,100\nb,50\n", 1 << 20).expect("a table");
    let mut problems = Vec::new();
    let (table, groups) =
        expand(&root, Tables { subscribers: Some(&Arc::new(rows)), sites: None }, 1 << 30, &mut problems)
            .ok()
            .flatten()
            .unwrap_or_default();
    (show(&table), problems, groups)
}

/// Returns a table without positions, in one line.
fn show(table: &DeTable<'_>) -> String {
    fn of(value: &DeValue<'_>) -> String {
        match value {
            DeValue::String(text) => text.to_string(),
            DeValue::Table(table) => format!("{{{}}}", show(table)),
            DeValue::Array(list) => {
                format!("[{}]", list.iter().map(|value| of(value.get_ref())).collect::<Vec<_>>().join(" "))
            }
            other => other.as_integer().map_or_else(|| format!("{other:?}"), ToString::to_string),
        }
    }
    let entries = table.iter().map(|(key, value)| format!("{}={}", key.get_ref(), of(value.get_ref())));
    entries.collect::<Vec<_>>().join(" ")
}

#[test]
fn members_follow_lists_numbers_and_groups() {
    let (table, problems, groups) = expanded(
        "[node]\nbng = {}\nsub = { count = 3 }\n[link.access]\nbetween = [\"bng\", \"sub/*\"]\n\
         rate = { up = \"10mbit\", down = [\"50mbit\", \"1gbit\"] }\n\
         [port.\"bng:core\".queue]\nall = { kind = \"htb\", children = [\"rest\", \"plan\"] }\nrest = { kind = \"fifo\" }\n\
         plan = { kind = \"cake\", count = \"50% of sub\", match = [{ destination = \"sub/$i\" }] }",
    );
    assert!(problems.is_empty(), "{problems:?}");
    assert_eq!(
        table,
        "node={bng={} sub/1={} sub/2={} sub/3={}} \
         link={access/1={between=[bng sub/1] rate={up=10mbit down=50mbit}} \
         access/2={between=[bng sub/2] rate={up=10mbit down=1gbit}} \
         access/3={between=[bng sub/3] rate={up=10mbit down=50mbit}}} \
         port={bng:core={queue={all={kind=htb children=[rest plan/1 plan/2]} rest={kind=fifo} \
         plan/1={kind=cake match=[{destination=sub/1}]} plan/2={kind=cake match=[{destination=sub/2}]}}}}"
    );
    assert_eq!(groups.number("node", "sub/3"), Some(3));
    assert_eq!(groups.number("node", "sub/4"), None);
    assert_eq!(groups.number("link", "sub/3"), None);
}

#[test]
fn a_table_gives_its_columns_and_a_member_may_be_changed() {
    let (table, problems, _) = expanded(
        "[node.sub]\ncount = \"subscribers\"\ncommand = \"echo $name $cost\"\n[flow.f]\ncount = 2\nrate = \"$download_max\"\n\
         [flow.\"f/2\"]\nrate = \"1mbit\"\n[flow.same]\ncount = 7",
    );
    assert!(problems.is_empty(), "{problems:?}");
    assert_eq!(
        table,
        "node={sub/1={command=echo a $cost} sub/2={command=echo b $cost}} \
         flow={f/1={rate=100mbit} f/2={rate=1mbit} same={count=7}}"
    );
}

#[test]
fn wrong_counts_are_noted_where_they_stand() {
    for (count, expected) in [
        ("0", "cannot be 0"),
        ("\"sob\"", "no group called `sob`"),
        ("\"110% of sub\"", "cannot be `110% of sub`"),
        ("true", "whole number or a text"),
        ("1_000_000", "more than is allowed"),
    ] {
        let text = format!("[node]\nsub = {{ count = 3 }}\nodd = {{ count = {count} }}");
        let (_, problems, _) = expanded(&text);
        assert_eq!(problems.len(), 1, "{count}: {problems:?}");
        assert!(problems[0].message().contains(expected), "{problems:?}");
        assert_eq!(problems[0].span().map(|span| &text[span]), Some(count));
    }
}

/// Memory is counted by what members have, while they are made: their values, their texts filled in, and
/// their names among `children`.
#[test]
fn members_take_no_more_memory_than_is_allowed() {
    let queues = |rest: &str| {
        format!(
            "[port.\"a:b\".queue]\nr = {{ kind = \"drr\", children = [\"q\"] }}\nq = {{ count = 1000, {rest} }}"
        )
    };
    let rules = format!("match = [{}]", "{ port = 1 },".repeat(1000));
    let long = format!("command = \"{}$i\"", "x".repeat(100_000));
    let columns = format!("command = \"{}\"", "$name".repeat(100_000));
    for rest in [rules, long, columns] {
        let text = queues(&rest);
        let root = DeTable::parse(&text).expect("TOML").into_inner();
        let rows = Rows::read("Name\naaaaaaaaaaaaaaaaaaaa\n", 1 << 20).expect("a table");
        let mut problems = Vec::new();
        assert!(
            expand(&root, Tables { subscribers: Some(&Arc::new(rows)), sites: None }, 8 << 20, &mut problems)
                .is_err(),
            "{}",
            &rest[..20]
        );
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert_eq!(
            problems[0].message(),
            "the members of `q` take more than 8 MiB to read, which is not allowed"
        );
    }
}

/// A group that `children` name again is not multiplied, and reported by its first member.
#[test]
fn a_group_named_by_many_parents_is_expanded_once() {
    let names = "\"q\",".repeat(1000);
    let (table, problems, _) = expanded(&format!(
        "[port.\"a:b\".queue]\nr = {{ kind = \"drr\", children = [{names}] }}\n\
         s = {{ kind = \"drr\", children = [\"q\"] }}\nq = {{ count = 3 }}"
    ));
    assert!(problems.is_empty(), "{problems:?}");
    assert_eq!(table.matches("q/1 ").count() + table.matches("q/1]").count(), 1001, "{table}");
    assert_eq!(table.matches("q/2 ").count(), 1);
}

#[test]
fn members_of_queues_are_named_by_a_column() {
    let queues = |more: &str| {
        format!(
            "[port.wan.queue]\nall = {{ kind = \"drr\", children = [\"plan\"] }}\n\
             plan = {{ kind = \"fifo\", count = \"subscribers\", name = \"$name\" }}\n{more}"
        )
    };
    let (table, problems, groups) = expanded(&queues("\"plan/b\" = { limit = \"9p\" }\n"));
    assert!(problems.is_empty(), "{problems:?}");
    assert_eq!(
        table,
        "port={wan={queue={all={kind=drr children=[plan/a plan/b]} plan/a={kind=fifo} plan/b={kind=fifo limit=9p}}}}"
    );
    assert_eq!((groups.number("queue", "plan/b"), groups.number("queue", "plan/2")), (Some(2), None));
    assert_eq!(groups.member("queue", "plan", 2), "plan/b");
    for (old, new, message, help) in [
        ("$name", "$download_max", "`plan` has no member called", ""),
        ("$name", "x", "members 1 and 2 of `plan` are both called `x`", "values differ"),
        (
            "$name",
            "$name, Jr.",
            "`a, Jr.` cannot be the name of a member of `plan` (line 2 of the table)",
            "column",
        ),
        ("\"$name\"", "7", "the `name` of members is a text", "$circuit_id"),
        ("plan/b", "plan/c", "`plan` has no member called `c`", ""),
    ] {
        let text = queues("\"plan/b\" = { limit = \"9p\" }\n").replace(old, new);
        let (_, problems, _) = expanded(&text);
        let found = problems.iter().find(|problem| problem.message().contains(message));
        let found = found.unwrap_or_else(|| panic!("`{message}` in {problems:?}"));
        assert!(found.help_text().unwrap_or_default().contains(help), "{found:?}");
    }
}
