package metrics

import "github.com/prometheus/client_golang/prometheus"

const namespace = "flashclaim"

// maker makes metrics of our namespace and registers them.
type maker struct{ registry *prometheus.Registry }

func (k maker) counter(name, help string) prometheus.Counter {
	return register(k, prometheus.NewCounter(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}))
}

func (k maker) counters(name, help, label string) *prometheus.CounterVec {
	return register(k, prometheus.NewCounterVec(
		prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, []string{label}))
}

func (k maker) gauge(name, help string) prometheus.Gauge {
	return register(k, prometheus.NewGauge(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help}))
}

func (k maker) gauges(name, help, label string) *prometheus.GaugeVec {
	return register(k, prometheus.NewGaugeVec(
		prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help}, []string{label}))
}

func (k maker) histogram(name, help string, buckets []float64) prometheus.Histogram {
	return register(k, prometheus.NewHistogram(
		prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: buckets}))
}

func register[C prometheus.Collector](k maker, c C) C {
	k.registry.MustRegister(c)
	return c
}
