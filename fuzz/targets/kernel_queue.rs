//! Arbitrary bytes as attributes of the kernel's queues: refused, or a queue that is written and read again; never a
//! panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use lockgate_tc::kernel::{KernelQueue, Looks, Tree};

fuzz_target!(|bytes: &[u8]| {
    // Bytes alternate with the handles, so that trees have every shape.
    let mut queues = Vec::new();
    for part in bytes.chunks(512) {
        let [major, parent, is_class, rest @ ..] = part else { continue };
        let handles = (u32::from(*major) << 16, u32::from(*parent) << 16);
        let Ok(queue) = KernelQueue::read(1, handles, is_class % 2 == 1, rest) else { continue };
        let again = KernelQueue::read(1, handles, queue.is_class, &queue.attributes());
        assert_eq!(again.as_ref(), Ok(&queue), "what is written is read");
        queues.push(queue);
    }
    let tree = Tree::of(1, "eth0", queues);
    let rates = vec![1e6; tree.queues.len()];
    for index in 0..tree.queues.len() {
        let _ = tree.reason(index, &rates);
    }
    let mut looks = Looks::default();
    for at_s in [1.0, 2.0] {
        looks.look(1, tree.queues.iter().map(|branch| &branch.queue));
        looks.close(core::slice::from_ref(&tree), at_s);
    }
});
