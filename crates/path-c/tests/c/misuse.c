/* Calls that are wrong, each of which must be an error with a text, and the calls that the example has not. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lockgate_path.h"

#define CHECK(what) \
    do { \
        if (!(what)) { fprintf(stderr, "line %d: %s (%s)\n", __LINE__, #what, lockgate_last_error()); exit(1); } \
    } while (0)

#define SAYS(text) CHECK(strstr(lockgate_last_error(), text))

static const char *SCENARIO =
    "title = \"two hosts\"\nduration = \"5s\"\nnode.a = {}\nnode.b = {}\n"
    "link.line = { between = [\"a\", \"b\"], rate = \"8mbit\", delay = \"10ms\" }\n";

static void paths_that_cannot_be(void) {
    CHECK(!lockgate_path_between(NULL, "b", "1mbit", "1ms", "fifo", 1, 0));
    SAYS("NULL");
    CHECK(!lockgate_path_between("a", "b", "fast", "1ms", "fifo", 1, 0));
    SAYS("rate");
    CHECK(!lockgate_path_between("a", "b", "1mbit", "1ms", "fq_codle", 1, 0));
    SAYS("fq_codel");
    CHECK(!lockgate_path_between("\xff", "b", "1mbit", "1ms", "fifo", 1, 0));
    SAYS("utf-8");
    CHECK(!lockgate_path_from_scenario("[", "a", "b", 1, 0));
    CHECK(!lockgate_path_from_scenario(SCENARIO, "a", "c", 1, 0));
    SAYS("`c`");
}

static void calls_that_cannot_be(void) {
    uint8_t bytes[4] = {1, 2, 3, 4};
    lockgate_delivery arrived;
    double value;
    CHECK(lockgate_path_send(NULL, 0, 0, bytes, 4, 0) == LOCKGATE_FATE_ERROR);
    CHECK(lockgate_path_receive(NULL, 0, &arrived) == -1);
    CHECK(lockgate_path_set(NULL, 0, "link.line.rate", "1mbit") == -1);
    CHECK(lockgate_path_now(NULL) == 0 && lockgate_path_next(NULL) == LOCKGATE_NEVER);
    CHECK(!lockgate_path_finish(NULL) && !lockgate_summary_json(NULL));
    CHECK(lockgate_summary_metric(NULL, "flow.a-b.loss", &value) == -1);
    lockgate_path_free(NULL);
    lockgate_summary_free(NULL);

    lockgate_path *path = lockgate_path_from_scenario(SCENARIO, "a", "b", 1, 0);
    CHECK(path);
    CHECK(lockgate_path_send(path, 0, 2, bytes, 4, 0) == LOCKGATE_FATE_ERROR);
    SAYS("no end");
    CHECK(lockgate_path_send(path, 0, 0, NULL, 1 << 20, 0) == LOCKGATE_FATE_ERROR);
    SAYS("longer");
    /* A negative number is a length that no memory has. */
    CHECK(lockgate_path_send(path, 0, 0, bytes, (size_t)-1, 0) == LOCKGATE_FATE_ERROR);
    SAYS("longer");
    CHECK(lockgate_path_send_ip(path, 0, 0, bytes, (size_t)-1) == LOCKGATE_FATE_ERROR);
    SAYS("longer");
    CHECK(lockgate_path_send_ip(path, 0, 0, bytes, 4) == LOCKGATE_FATE_ERROR);
    CHECK(lockgate_path_send_ip(path, 0, 0, NULL, 4) == LOCKGATE_FATE_ERROR);
    CHECK(lockgate_path_receive(path, LOCKGATE_NEVER, NULL) == -1);
    CHECK(lockgate_path_set(path, 0, "link.lime.rate", "1mbit") == -1);
    SAYS("lime");
    CHECK(lockgate_path_receive(path, LOCKGATE_MILLISECOND, &arrived) == 0);
    CHECK(lockgate_path_send(path, 0, 0, bytes, 4, 0) == LOCKGATE_FATE_ERROR);
    SAYS("past");
    lockgate_path_free(path);
}

/* 5 bytes, only a length, and a drop; the time of arrival is that of the line. */
static void a_path_that_is_used(const char *folder) {
    lockgate_path *path = lockgate_path_from_scenario(SCENARIO, "a", "b", 1, LOCKGATE_KEEP_PACKETS);
    lockgate_delivery arrived;
    char file[4096];
    double value = NAN;
    CHECK(path);
    CHECK(lockgate_path_send(path, 0, 0, (const uint8_t *)"hello", 5, 46 << 2 | LOCKGATE_ECT1) == LOCKGATE_FATE_SENT);
    CHECK(lockgate_path_send(path, 0, 1, NULL, 958, LOCKGATE_NOT_ECT) == LOCKGATE_FATE_SENT);
    CHECK(lockgate_path_next(path) <= 11 * LOCKGATE_MILLISECOND);
    CHECK(lockgate_path_receive(path, LOCKGATE_NEVER, &arrived) == 1);
    CHECK(arrived.end == 1 && arrived.length == 5 && !memcmp(arrived.bytes, "hello", 5));
    CHECK(arrived.at == 10 * LOCKGATE_MILLISECOND + 47 * 1000000 && arrived.sent == 0 && arrived.queued == 0);
    CHECK(arrived.traffic_class == (46 << 2 | LOCKGATE_ECT1) && arrived.frame_length == 47);
    CHECK(lockgate_path_now(path) == arrived.at);
    CHECK(lockgate_path_receive(path, LOCKGATE_NEVER, &arrived) == 1);
    CHECK(arrived.end == 0 && arrived.length == 0 && !arrived.bytes && arrived.frame_length == 1000);
    CHECK(lockgate_path_set(path, lockgate_path_now(path), "link.line.rate", "4mbit") == 0);
    lockgate_summary *summary = lockgate_path_finish(path);
    CHECK(summary);
    CHECK(lockgate_summary_metric(summary, "flow.a-b.loss", &value) == 0 && value == 0);
    CHECK(lockgate_summary_metric(summary, "flow.a-c.loss", &value) == -1);
    SAYS("`a-c`");
    CHECK(strstr(lockgate_summary_json(summary), "\"a-b/return\""));
    snprintf(file, sizeof file, "%s/queue.pcapng", folder);
    CHECK(lockgate_summary_write_pcapng(summary, file) == 0);
    snprintf(file, sizeof file, "%s/queue.qlog", folder);
    CHECK(lockgate_summary_write_qlog(summary, file) == 0);
    snprintf(file, sizeof file, "%s/none/queue.qlog", folder);
    CHECK(lockgate_summary_write_qlog(summary, file) == -1);
    lockgate_summary_free(summary);
}

int main(int count, char **arguments) {
    paths_that_cannot_be();
    calls_that_cannot_be();
    a_path_that_is_used(count > 1 ? arguments[1] : "/tmp");
    return 0;
}
