#!/bin/sh
# Ingress by an ifb with CAKE, as on many home routers and servers; flower for SSH over IPv4 and IPv6.
set -e
modprobe ifb numifbs=0
ip link add ifb4wan type ifb
ip link set ifb4wan up
tc qdisc add dev wan root handle 1: cake bandwidth 38mbit diffserv4 dual-srchost nat nowash ack-filter split-gso rtt 100ms ptm overhead 30 mpu 64
tc qdisc add dev wan handle ffff: ingress
tc filter add dev wan parent ffff: protocol all prio 10 matchall action mirred egress redirect dev ifb4wan
tc qdisc add dev ifb4wan root handle 1: cake bandwidth 95mbit besteffort ingress dual-dsthost nat wash no-ack-filter split-gso rtt 100ms ptm overhead 30 mpu 64
tc qdisc add dev lan1 clsact
tc filter add dev lan1 egress pref 10 protocol ip flower ip_proto tcp dst_port 22 action skbedit priority 1:1
tc filter add dev lan1 egress pref 11 protocol ipv6 flower ip_proto tcp dst_port 22 action skbedit priority 1:1
