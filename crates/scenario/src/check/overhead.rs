//! Checks the overhead of links and ports: `overhead`, `mpu` and `framing`.

use lockgate_engine::discipline::Invalid;
use lockgate_engine::overhead::{Framing, PacketOverhead};
use lockgate_engine::units::{Bytes, Overhead};

use super::Checker;
use crate::diagnostic::Problem;
use crate::table_reader::TableLocation;
use crate::values::LinkOverhead;

/// Values of the keys that define an overhead, in the order of their names.
pub(super) type OverheadKeys = (Option<LinkOverhead>, Option<Bytes>, Option<Framing>);

impl Checker<'_> {
    /// Returns the overhead that the keys of a link or a port define: that of a line by `of_line`, or of
    /// bytes by `of_bytes`.
    pub(super) fn overhead<T>(
        &mut self,
        location: TableLocation<'_, '_>,
        (overhead, mpu, framing): OverheadKeys,
        of_line: impl Fn(PacketOverhead) -> T,
        of_bytes: impl Fn(Option<Overhead>, Bytes, Framing) -> Result<T, Invalid>,
    ) -> Option<T> {
        let bytes = match overhead {
            Some(LinkOverhead::Line(line)) => {
                for key in ["mpu", "framing"].into_iter().filter(|key| location.has(key)) {
                    let problem =
                        Problem::new(location.key(key), format!("the link's name says its `{key}`"));
                    let problem = problem.see(location.value("overhead"), "the link");
                    self.note(problem.help("write the overhead in bytes, such as `18B`, beside it"));
                }
                return Some(of_line(line.overhead));
            }
            Some(LinkOverhead::Bytes(bytes)) => Some(bytes),
            None => None,
        };
        of_bytes(bytes, mpu.unwrap_or_default(), framing.unwrap_or_default())
            .map_err(|invalid| {
                let what = format!("`{}` is out of its range", invalid.field);
                let problem = Problem::new(location.value(invalid.field), what);
                self.note(problem.help(format!("it {}", invalid.why)));
            })
            .ok()
    }
}
