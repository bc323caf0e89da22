package main

func Example() {
	main()
	// Output:
	// start speech/notebook node-a[0]
	// start vision/train [0-2] node-a[1-2] node-b[0-1] node-b[2-3]
	// wait speech/serve  no-quota: is not preemptible and asks 4 GPUs, and the quota of queue speech leaves 3 GPUs
	// share  queue   resource  quota  limit      used  in-quota  over-quota  non-preemptible  demand  fair-share  borrowed  lent  reachable  pool-total  state
	// share  speech  gpu       4      unlimited  1     1         0           1                5       4           0         0     12         12          in-quota
	// share  vision  gpu       4      unlimited  6     4         2           0                6       6           2         0     12         12          over-quota
}
