#!/bin/sh
# The widespread "unix toolbox" recipe: three bands by priomap, sfq below, VoIP on ports 10000 to 11024 by the mask 0x3C00.
# The mask is wrong (10000 & 0x3c00 = 0x2400): it takes 9216 to 10239 and three more ranges, and not 10240 to 11024.
tc qdisc add dev eth0 root handle 1: prio priomap 2 2 2 2 2 2 2 2 1 1 1 1 1 1 1 0
tc qdisc add dev eth0 parent 1:1 handle 10: sfq
tc qdisc add dev eth0 parent 1:2 handle 20: sfq
tc qdisc add dev eth0 parent 1:3 handle 30: sfq
tc filter add dev eth0 protocol ip parent 1: prio 1 u32 \
  match ip dport 10000 0x3C00 flowid 1:1
tc filter add dev eth0 protocol ip parent 1: prio 1 u32 \
  match ip dst 123.23.0.1 flowid 1:1
