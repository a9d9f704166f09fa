# What Mininet's TCLink(use_hfsc=True, bw=10, delay='5ms', max_queue_size=100) runs: rates as %f, Mbit with a capital, netem below.
tc qdisc add dev s1-eth1 root handle 5:0 hfsc default 1
tc class add dev s1-eth1 parent 5:0 classid 5:1 hfsc sc rate 10.000000Mbit ul rate 10.000000Mbit
tc qdisc add dev s1-eth1 parent 5:1 handle 10: netem delay 5ms limit 100
