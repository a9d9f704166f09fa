#!/bin/bash
# The classic HFSC example (voip-info, munin plugins, shorewall): delay by umax and dmax.
DEV=enp3s0
RATEUP=1000
tc qdisc add dev $DEV root handle 1: hfsc default 11
tc class add dev $DEV parent 1: classid 1:1 hfsc sc rate ${RATEUP}kbit ul rate ${RATEUP}kbit
tc class add dev $DEV parent 1:1 classid 1:10 hfsc sc rate 500kbit ul rate 1000kbit
tc class add dev $DEV parent 1:1 classid 1:20 hfsc sc rate 500kbit ul rate 1000kbit
tc class add dev $DEV parent 1:10 classid 1:11 hfsc sc umax 1500b dmax 53ms rate 400kbit ul rate 1000kbit
tc class add dev $DEV parent 1:10 classid 1:12 hfsc sc umax 1500b dmax 30ms rate 100kbit ul rate 1000kbit
tc filter add dev $DEV parent 1: prio 1 protocol ip u32 match ip protocol 17 0xff match ip dport 5060 0xffff flowid 1:12
tc filter add dev $DEV parent 1: prio 2 protocol ip u32 match ip tos 0x68 0xff match ip protocol 0x11 0xff flowid 1:12
tc filter add dev $DEV parent 1: prio 3 protocol ip u32 match ip dst 0.0.0.0/0 flowid 1:20
