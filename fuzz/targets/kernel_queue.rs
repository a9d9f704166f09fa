//! Arbitrary bytes as attributes of the kernel's queues: refused, or a queue that is written and read again;
//! never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use lockgate_tc::kernel::{Device, KernelQueue, Looks, Tree};

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
    let mut device = Device::default();
    // Read again with fewer queues, and with all.
    for read in [&queues[..], &queues[..queues.len() / 2], &queues[..]] {
        device.start();
        for queue in read {
            device.read(1, (queue.handle, queue.parent), queue.is_class, &queue.attributes());
        }
        device.end(1, "eth0");
        assert_eq!(device.tree(), &Tree::of(1, "eth0", read.to_vec()), "a tree read again");
    }
    let tree = Tree::of(1, "eth0", queues);
    let rates = vec![1e6; tree.queues.len()];
    for index in 0..tree.queues.len() {
        let _ = tree.reason(index, &rates);
    }
    let mut looks = Looks::default();
    for at_s in [1.0, 2.0] {
        looks.look(&tree);
        looks.close([&tree], at_s);
    }
});
