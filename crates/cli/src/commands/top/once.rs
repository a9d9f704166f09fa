//! `lockgate top --once`: two looks, as a table or a document.

use std::time::Duration;

use lockgate::figures;
use lockgate_monitor::kernel::{Kernel, Once};

use crate::arguments::Top;
use crate::exit::{Exit, Failure};
use crate::output::{say, tell};
use crate::results::print_json;
use crate::terminal;

/// Time between the two looks.
const INTERVAL: Duration = Duration::from_secs(1);

pub(super) fn once(kernel: Kernel, arguments: &Top) -> Result<Exit, Failure> {
    let interval = arguments.every.as_deref().map_or(Ok(INTERVAL), super::interval)?;
    let looks = Once::take(kernel, interval)?;
    if arguments.tc {
        print_json(&looks.disciplines()?)?;
    } else if arguments.json {
        print_json(&looks.document()?)?;
    } else {
        match looks.grid() {
            Some(grid) => terminal::print(&grid),
            None => {
                say!("no interface has queues that were set up; `--all` shows the kernel's own choice");
            }
        }
        let queues = figures::count(looks.queue_count() as u64, "queue");
        tell!("{queues}; a look took {} of a processor", figures::seconds(Some(looks.cost_s)));
    }
    Ok(Exit::Ok)
}
