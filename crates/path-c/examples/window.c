/* A transport of one window, halved by a mark or a loss, at the ends of a path: fq_codel keeps its delay short.
 *
 *   cargo build --release -p lockgate-path-c
 *   cc -I crates/path-c/include crates/path-c/examples/window.c target/release/liblockgate_path_c.a -lm -lpthread
 *   ./a.out
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lockgate_path.h"

#define SECONDS 10
#define CLIENT 0
#define SERVER 1

struct result { double rate, delay; unsigned marks; };

static void fail(const char *what) {
    fprintf(stderr, "%s: %s\n", what, lockgate_last_error());
    exit(1);
}

/* Runs the transport over 10 Mbit/s and 20 ms each way, with the queue of this kind before the line. */
static struct result run(const char *queue) {
    struct result result = {0, 0, 0};
    double window = 10, threshold = 1e9;
    uint32_t sent = 0, acknowledged = 0, cut_until = 0;
    uint64_t now = 0, end = SECONDS * 1000 * LOCKGATE_MILLISECOND;
    lockgate_path *path = lockgate_path_between("client", "server", "10mbit", "20ms", queue, 1, 0);
    if (!path) fail("a path");
    for (;;) {
        for (; sent - acknowledged < window; sent++) {
            uint8_t packet[1200] = {0};
            memcpy(packet, &sent, sizeof sent);
            if (lockgate_path_send(path, now, CLIENT, packet, sizeof packet, LOCKGATE_ECT0) < 0) fail("send");
        }
        lockgate_delivery arrived;
        int found = lockgate_path_receive(path, end, &arrived);
        if (found < 0) fail("receive");
        if (found == 0) break;
        now = arrived.at;
        if (arrived.end == SERVER) { /* The answer: the number that arrived, and whether it was marked. */
            uint8_t answer[5];
            memcpy(answer, arrived.bytes, 4);
            answer[4] = (arrived.traffic_class & 3) == LOCKGATE_CE;
            if (lockgate_path_send(path, now, SERVER, answer, sizeof answer, LOCKGATE_NOT_ECT) < 0) fail("send");
            continue;
        }
        uint32_t number;
        memcpy(&number, arrived.bytes, sizeof number);
        int congested = number > acknowledged || arrived.bytes[4];
        result.marks += arrived.bytes[4];
        acknowledged = number + 1;
        if (congested && number >= cut_until) {
            window = threshold = window / 2 > 2 ? window / 2 : 2;
            cut_until = sent;
        } else if (!congested) {
            window += window < threshold ? 1 : 1 / window;
        }
    }
    lockgate_summary *summary = lockgate_path_finish(path);
    if (!summary || lockgate_summary_metric(summary, "flow.client-server.throughput", &result.rate)
        || lockgate_summary_metric(summary, "flow.client-server.owd.p99", &result.delay)) fail("the results");
    lockgate_summary_free(summary);
    return result;
}

int main(void) {
    struct result fifo = run("fifo"), fair = run("fq_codel");
    printf("fifo: %.2f Mbit/s, p99 %.1f ms; fq_codel: %.2f Mbit/s, p99 %.1f ms, %u marks\n", fifo.rate / 1e6,
           fifo.delay * 1e3, fair.rate / 1e6, fair.delay * 1e3, fair.marks);
    int holds = fair.rate > 8e6 && fair.marks > 0 && fair.delay * 2 < fifo.delay && fifo.marks == 0;
    return holds ? 0 : 3;
}
