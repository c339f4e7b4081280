package obs

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Tracer makes spans and carries the trace context of callers on (W3C Trace
// Context). On a nil *Tracer nothing is recorded and nothing carried on.
type Tracer struct {
	provider   *sdktrace.TracerProvider
	tracer     trace.Tracer
	propagator propagation.TextMapPropagator
}

// TraceOptions say where spans go.
type TraceOptions struct {
	// Endpoint is the address that takes OTLP over HTTP, such as
	// http://localhost:4318/v1/traces. Headers, certificates and time-outs are
	// those of the OTEL_EXPORTER_OTLP_… environment variables.
	Endpoint string
	// Ratio is the part of the traces that are begun here and recorded, from 0 to
	// 1. What the caller has decided of a trace stands.
	Ratio   float64
	Version string
	// Log is told of spans that could not be sent; nil means nobody is.
	Log *slog.Logger
}

// NewTracer begins to send spans, in batches and in the background. An endpoint
// that does not answer costs the spans and nothing else.
func NewTracer(ctx context.Context, o TraceOptions) (*Tracer, error) {
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(o.Endpoint))
	if err != nil {
		return nil, fmt.Errorf("send traces to %s: %w", host(o.Endpoint), err)
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return newTracer(o, sdktrace.WithBatcher(loggedExporter{exporter, o.Log})), nil
}

// loggedExporter logs what it could not send, which OpenTelemetry would print.
type loggedExporter struct {
	sdktrace.SpanExporter
	log *slog.Logger
}

func (e loggedExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	if err := e.SpanExporter.ExportSpans(ctx, spans); err != nil {
		e.log.LogAttrs(ctx, slog.LevelWarn, "traces were not sent", slog.Int("spans", len(spans)), slog.Any("error", err))
	}
	return nil
}

func newTracer(o TraceOptions, processor sdktrace.TracerProviderOption) *Tracer {
	provider := sdktrace.NewTracerProvider(processor,
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(o.Ratio))),
		sdktrace.WithResource(resource.NewSchemaless(
			attribute.String("service.name", "docseek"), attribute.String("service.version", o.Version))))
	return &Tracer{
		provider: provider, tracer: provider.Tracer("github.com/docseek/docseek"),
		propagator: propagation.TraceContext{},
	}
}

// host is an address without what may be secret in it.
func host(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "its endpoint"
	}
	return u.Host
}

// Close sends what is left and ends the tracer, within the context's time.
func (t *Tracer) Close(ctx context.Context) error {
	if t == nil {
		return nil
	}
	if err := t.provider.Shutdown(ctx); err != nil {
		return fmt.Errorf("send the last traces: %w", err)
	}
	return nil
}

// Continue returns a context in the trace that a caller is in. get returns the
// caller's traceparent and tracestate by these names, or nothing.
func (t *Tracer) Continue(ctx context.Context, get func(key string) string) context.Context {
	if t == nil {
		return ctx
	}
	carrier := propagation.MapCarrier{}
	for _, key := range t.propagator.Fields() {
		if value := get(key); value != "" {
			carrier[key] = value
		}
	}
	return t.propagator.Extract(ctx, carrier)
}

// Start begins a span that a caller waits for. Attributes are pairs of name and
// value. The function ends it with its outcome in a word, and says whether it failed.
func (t *Tracer) Start(ctx context.Context, name string, attributes ...string) (_ context.Context, end func(outcome string, failed bool)) {
	if t == nil {
		return ctx, func(string, bool) {}
	}
	ctx, span := t.tracer.Start(ctx, name, trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(pairs(attributes)...))
	return ctx, func(outcome string, failed bool) {
		if failed {
			span.SetAttributes(attribute.String("error.type", outcome))
			span.SetStatus(codes.Error, outcome)
		}
		span.End()
	}
}

func pairs(attributes []string) []attribute.KeyValue {
	all := make([]attribute.KeyValue, 0, len(attributes)/2)
	for i := 0; i+1 < len(attributes); i += 2 {
		all = append(all, attribute.String(attributes[i], attributes[i+1]))
	}
	return all
}

// Transport makes a span of each request that next carries and tells the other
// side of the trace. The span names the host and the status, never a path, query
// or header.
func (t *Tracer) Transport(next http.RoundTripper) http.RoundTripper {
	if t == nil {
		return next
	}
	return roundTripper{next, func(r *http.Request) (*http.Response, error) {
		ctx, span := t.tracer.Start(r.Context(), r.Method, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
			attribute.String("http.request.method", r.Method), attribute.String("server.address", r.URL.Hostname())))
		defer span.End()
		r = r.Clone(ctx)
		t.propagator.Inject(ctx, propagation.HeaderCarrier(r.Header))
		res, err := next.RoundTrip(r)
		switch {
		case err != nil:
			span.SetStatus(codes.Error, "no answer")
		default:
			span.SetAttributes(attribute.Int("http.response.status_code", res.StatusCode))
			if res.StatusCode >= http.StatusInternalServerError {
				span.SetStatus(codes.Error, res.Status)
			}
		}
		return res, err
	}}
}
