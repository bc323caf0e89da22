package tell

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/allotsched/allot"
)

// What Prometheus reads, beside the metrics of client and runtime.
var (
	decisionSeconds = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "allot_decision_seconds", Help: "Time to decide on a snapshot, without reading and acting.",
		Buckets: prometheus.ExponentialBuckets(0.0001, 2, 18),
	})
	incremental = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "allot_decisions_total", Help: "Decisions, by whether they went on from an earlier one.",
	}, []string{"incremental"})
	orders = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "allot_orders_total", Help: "What the API server was asked for, by kind and outcome.",
	}, []string{"kind", "outcome"})
	waitingWorkloads = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "allot_waiting_workloads", Help: "Workloads that wait, by their most telling reason.",
	}, []string{"reason"})
	queueAmounts = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "allot_queue_amount", Help: "Figures of queues in Allot's units (GPUs and CPUs in thousandths).",
	}, []string{"queue", "resource", "figure"})
)

func init() {
	metrics.Registry.MustRegister(decisionSeconds, incremental, orders, waitingWorkloads, queueAmounts)
}

// CountDecision counts a decision that took some time.
func CountDecision(took time.Duration, d *allot.Decision) {
	decisionSeconds.Observe(took.Seconds())
	kind := "no"
	if d.Incremental() {
		kind = "yes"
	}
	incremental.WithLabelValues(kind).Inc()
}

// CountOrder counts what became of an order.
func CountOrder(kind string, err error) {
	outcome := "done"
	if err != nil {
		outcome = "failed"
	}
	orders.WithLabelValues(kind, outcome).Inc()
}

func countWaiting(codes map[string]int) {
	waitingWorkloads.Reset()
	for code, n := range codes { // gauges of their own: order cannot matter
		waitingWorkloads.WithLabelValues(code).Set(float64(n))
	}
}

func countShare(s *allot.Share) {
	if s.Class != "" {
		return
	}
	for figure, n := range map[string]int64{"used": s.Used, "demand": s.Demand, "fairShare": s.FairShare} { // the same
		queueAmounts.WithLabelValues(s.Queue, s.Resource, figure).Set(float64(n))
	}
}
