// Package obs shows operators what the process does: metrics for Prometheus and
// traces for OpenTelemetry. It knows none of the other rooms; they are handed
// what they report to.
package obs
