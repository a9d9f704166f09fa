# The shape of FlexQoS: rates in bits, bursts by hand, quanta of rate / 80: 14700 B and 806400 B in one tree.
tc qdisc add dev eth0 root handle 1: htb default 13 r2q 10
tc class add dev eth0 parent 1: classid 1:1 htb rate 23552000bit ceil 23552000bit
tc class add dev eth0 parent 1:1 classid 1:10 htb prio 0 rate 1176000bit ceil 23552000bit burst 3200 cburst 28800 quantum 14700
tc class add dev eth0 parent 1:1 classid 1:11 htb prio 1 rate 4704000bit ceil 23552000bit burst 4800 cburst 28800 quantum 58800
tc class add dev eth0 parent 1:1 classid 1:12 htb prio 2 rate 2352000bit ceil 23552000bit burst 3200 cburst 28800 quantum 29400
tc class add dev eth0 parent 1:1 classid 1:13 htb prio 3 rate 1176000bit ceil 23552000bit burst 3200 cburst 28800 quantum 806400
tc qdisc add dev eth0 parent 1:10 fq_codel quantum 300 limit 1000 noecn
tc qdisc add dev eth0 parent 1:11 fq_codel quantum 300 limit 1000 noecn
tc qdisc add dev eth0 parent 1:12 fq_codel quantum 300 limit 1000 noecn
tc qdisc add dev eth0 parent 1:13 fq_codel quantum 300 limit 1000 noecn
tc filter add dev eth0 parent 1: prio 1 protocol all u32 match mark 0x90000 0xc03f0000 flowid 1:10
tc filter add dev eth0 parent 1: prio 2 protocol ip u32 match ip protocol 17 0xff match ip dport 3074 0xffff flowid 1:11
