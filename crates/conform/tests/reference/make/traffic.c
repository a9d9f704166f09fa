// Sender and receiver of datagrams in two network namespaces of one machine, for reference runs of queues.
//
// Reads the file that it is given: the end of the run in ns and the number of flows; a line a flow (source, its port, destination, its
// port, bytes of payload, TOS byte, window in ns); then a line a packet in order of time (ns since the start, flow).
// Prints a line a flow, for the packets as `docs/concepts/conformance.md` counts them.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { FLOWS = 64, SECONDS = 256, SECOND = 1000000000, SETTLING = SECOND / 2 };

struct packet { uint32_t flow, number; int64_t sent; };

struct flow {
	int out, in, payload;
	int64_t window[2];
	long sent, offered, counted, arrived, received, marked;
	int64_t least, most, latest;
	double sum, by_second[SECONDS];
	long in_second[SECONDS];
} flows[FLOWS];

static void must(int good, const char *what) {
	if (!good) { perror(what); exit(1); }
}

static void enter(const char *namespace) {
	must(setns(open(namespace, O_RDONLY), CLONE_NEWNET) == 0, namespace);
}

static int bound(const char *address, int port) {
	int made = socket(AF_INET, SOCK_DGRAM, 0);
	struct sockaddr_in name = { .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = inet_addr(address) };
	must(bind(made, (void *)&name, sizeof name) == 0, "bind");
	return made;
}

static int64_t now(void) {
	struct timespec time;
	clock_gettime(CLOCK_REALTIME, &time);
	return time.tv_sec * (int64_t)SECOND + time.tv_nsec;
}

static void wait_until(int64_t time) {
	struct timespec at = { time / SECOND, time % SECOND };
	while (clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &at, NULL)) { }
}

// Adds what the kernel received, at its own time of receipt. A time is one since the start.
static void receive(int64_t start, int64_t end, int of) {
	char data[2048], control[256];
	for (;;) {
		struct iovec into = { data, sizeof data };
		struct msghdr message = { .msg_iov = &into, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control };
		if (recvmsg(flows[of].in, &message, MSG_DONTWAIT) < (ssize_t)sizeof(struct packet)) break;
		struct packet packet;
		memcpy(&packet, data, sizeof packet);
		int64_t at = 0;
		int tos = 0;
		for (struct cmsghdr *part = CMSG_FIRSTHDR(&message); part; part = CMSG_NXTHDR(&message, part)) {
			if (part->cmsg_type == SO_TIMESTAMPNS) {
				struct timespec *time = (void *)CMSG_DATA(part);
				at = time->tv_sec * (int64_t)SECOND + time->tv_nsec - start;
			} else if (part->cmsg_type == IP_TOS) {
				tos = *CMSG_DATA(part);
			}
		}
		if (at > end) continue;
		struct flow *flow = &flows[packet.flow];
		int64_t delay = at - packet.sent;
		flow->by_second[packet.sent / SECOND] += delay;
		flow->in_second[packet.sent / SECOND]++;
		if (packet.sent >= flow->window[0] && packet.sent <= flow->window[1] && packet.sent <= end - SETTLING) flow->arrived++;
		if (at < flow->window[0] || at > flow->window[1]) continue;
		if (!flow->received || delay < flow->least) flow->least = delay;
		if (delay > flow->most) flow->most = delay;
		flow->sum += delay;
		flow->received++;
		flow->marked += (tos & 3) == 3;
	}
}

int main(int arguments, char **argument) {
	FILE *file = arguments == 2 ? fopen(argument[1], "r") : NULL;
	must(file != NULL, "traffic");
	int64_t end, time;
	int count, of;
	must(fscanf(file, "%ld %d", &end, &count) == 2 && count <= FLOWS, "head");
	for (int i = 0; i < count; i++) {
		struct flow *flow = &flows[i];
		char source[16], destination[16];
		int from, to, tos, most = 1 << 30, one = 1;
		must(fscanf(file, "%15s %d %15s %d %d %d %ld %ld", source, &from, destination, &to, &flow->payload, &tos,
			&flow->window[0], &flow->window[1]) == 8, "flow");
		enter("/run/netns/b");
		flow->in = bound(destination, to);
		must(setsockopt(flow->in, SOL_SOCKET, SO_RCVBUFFORCE, &most, sizeof most) == 0, "SO_RCVBUFFORCE");
		must(setsockopt(flow->in, SOL_SOCKET, SO_TIMESTAMPNS, &one, sizeof one) == 0, "SO_TIMESTAMPNS");
		must(setsockopt(flow->in, IPPROTO_IP, IP_RECVTOS, &one, sizeof one) == 0, "IP_RECVTOS");
		enter("/run/netns/a");
		flow->out = bound(source, from);
		struct sockaddr_in name = { .sin_family = AF_INET, .sin_port = htons(to), .sin_addr.s_addr = inet_addr(destination) };
		must(connect(flow->out, (void *)&name, sizeof name) == 0, "connect");
		must(setsockopt(flow->out, IPPROTO_IP, IP_TOS, &tos, sizeof tos) == 0, "IP_TOS");
	}
	char data[2048] = { 0 };
	prctl(PR_SET_TIMERSLACK, 1);
	must(mlockall(MCL_CURRENT | MCL_FUTURE) == 0, "mlockall");
	int64_t start = now() + SECOND / 10, late = 0;
	while (fscanf(file, "%ld %d", &time, &of) == 2) {
		struct flow *flow = &flows[of];
		wait_until(start + time);
		struct packet packet = { of, flow->sent++, now() - start };
		memcpy(data, &packet, sizeof packet);
		must(send(flow->out, data, flow->payload, 0) == flow->payload, "send");
		if (packet.sent - time > late) late = packet.sent - time;
		if (packet.sent >= flow->window[0] && packet.sent <= flow->window[1]) {
			flow->offered++;
			flow->counted += packet.sent <= end - SETTLING;
		}
	}
	wait_until(start + end);
	for (int i = 0; i < count; i++) receive(start, end, i);
	for (int i = 0; i < count; i++) {
		struct flow *flow = &flows[i];
		printf("FLOW %d %ld %ld %ld %ld %ld %ld %.1f %ld %ld", i, flow->sent, flow->offered, flow->counted, flow->arrived,
			flow->received, flow->marked, flow->received ? flow->sum / flow->received : 0.0, flow->least, flow->most);
		for (int64_t s = 0; s * SECOND < end; s++)
			printf(" %.0f", flow->in_second[s] ? flow->by_second[s] / flow->in_second[s] : -1.0);
		printf("\n");
	}
	printf("LATE %ld\n", late);
	return 0;
}
