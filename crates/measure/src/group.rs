//! Groups: subjects made by `count` are called `GROUP/NUMBER`.

/// Returns the group that a flow called `name` is a member of: `backup` for `backup/17`.
pub fn group_of(name: &str) -> Option<&str> {
    let (group, member) = name.split_once('/')?;
    (!member.is_empty() && member.bytes().all(|digit| digit.is_ascii_digit())).then_some(group)
}
