package graphql

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// Defaults of a client.
const (
	// DefaultTimeout bounds one request, its answer included.
	DefaultTimeout = 20 * time.Second
	// DefaultMaxResponse bounds an answer, in decoded bytes.
	DefaultMaxResponse = 2 << 20
)

const (
	maxRedirects = 3
	maxExcerpt   = 300 // characters of an answer that is quoted in an error
)

// ErrTooLarge means that an answer is larger than the client takes.
var ErrTooLarge = errors.New("the answer is too large")

// ErrIncremental means that an answer comes in parts (@defer, @stream or a
// subscription), which a single call cannot give.
var ErrIncremental = errors.New("incremental delivery is unsupported; leave @defer, @stream and subscriptions out")

// ClientOptions say how an endpoint is called.
type ClientOptions struct {
	// URL is the endpoint's address, http or https, without user, password or fragment.
	URL string
	// Headers are sent with every request, and to no other host. They may hold
	// secrets: none of their values appears in an error.
	Headers http.Header
	// Timeout bounds one request, its answer included; 0 means [DefaultTimeout].
	Timeout time.Duration
	// MaxResponse bounds an answer, in decoded bytes; 0 means [DefaultMaxResponse].
	MaxResponse int64
	// UserAgent names the caller; empty means "docseek".
	UserAgent string
	// Transport carries the requests; nil means the proxy and certificates of
	// the environment.
	Transport http.RoundTripper
	// Wrap, where there is one, puts something around the transport.
	Wrap func(http.RoundTripper) http.RoundTripper
}

// Client sends GraphQL requests to one endpoint, as GraphQL over HTTP has it
// (https://graphql.github.io/graphql-over-http/draft). It does not retry: what
// may be sent again only the caller knows. It is safe for concurrent use.
type Client struct {
	address *url.URL
	headers http.Header
	agent   string
	timeout time.Duration
	max     int64
	http    *http.Client
}

// NewClient checks the options.
func NewClient(o ClientOptions) (*Client, error) {
	u, err := url.Parse(o.URL)
	switch {
	case err != nil:
		return nil, errors.New("url: is no URL")
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return nil, errors.New("url: must be an http or https URL")
	case u.User != nil:
		return nil, errors.New("url: must not hold a user or password; use a header")
	case u.Fragment != "":
		return nil, errors.New("url: must not have a fragment")
	}
	c := &Client{
		address: u,
		headers: o.Headers.Clone(),
		agent:   cmp.Or(o.UserAgent, "docseek"),
		timeout: cmp.Or(max(o.Timeout, 0), DefaultTimeout),
		max:     cmp.Or(max(o.MaxResponse, 0), DefaultMaxResponse),
	}
	transport := roundTripper(o.Transport)
	if o.Wrap != nil {
		transport = o.Wrap(transport)
	}
	c.http = &http.Client{Transport: transport, CheckRedirect: c.checkRedirect}
	return c, nil
}

func roundTripper(given http.RoundTripper) http.RoundTripper {
	if given != nil {
		return given
	}
	std, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return http.DefaultTransport
	}
	own := std.Clone()
	own.MaxIdleConnsPerHost = 16 // all requests go to one host
	return own
}

// URL is the endpoint's address without its query, which may hold a secret.
func (c *Client) URL() string {
	shown := *c.address
	shown.RawQuery, shown.ForceQuery = "", false
	return shown.String()
}

// Close closes the connections that are idle.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Request is one GraphQL request.
type Request struct {
	// Query is the document's text; it may be empty where the document is known
	// to the server by DocumentID or by Extensions.
	Query string `json:"query,omitempty"`
	// DocumentID names a document that the server holds.
	DocumentID string `json:"documentId,omitempty"`
	// OperationName selects the operation of the document.
	OperationName string `json:"operationName,omitempty"`
	// Variables is a JSON object, sent as it is; empty means none.
	Variables json.RawMessage `json:"variables,omitempty"`
	// Extensions is a JSON object, sent as it is; empty means none.
	Extensions json.RawMessage `json:"extensions,omitempty"`
	// Header holds headers of this request alone. They win over the client's,
	// and over nothing that the protocol itself needs.
	Header http.Header `json:"-"`
}

// Response is what a GraphQL server answered, numbers with all their digits.
type Response struct {
	// Status is the HTTP status: a GraphQL answer may come with any.
	Status int `json:"-"`
	// Data is nil where the answer has none or null.
	Data json.RawMessage `json:"data,omitempty"`
	// Errors is empty where the request succeeded in all its parts.
	Errors []Error `json:"errors,omitempty"`
	// Extensions is what the server says beside the result; nil if nothing.
	Extensions json.RawMessage `json:"extensions,omitempty"`
	// RetryAfter is how long the server asks to wait; 0 if it does not say.
	RetryAfter time.Duration `json:"-"`
}

// Error is one entry of an answer's errors (GraphQL spec, October 2021, §7.1.2).
type Error struct {
	Message   string     `json:"message"`
	Locations []Location `json:"locations,omitempty"`
	// Path holds the names and the indices (json.Number) down to the field that failed.
	Path []any `json:"path,omitempty"`
	// Extensions is a JSON object; nil if there is none.
	Extensions json.RawMessage `json:"extensions,omitempty"`
}

// Location is a place in a document; both count from 1.
type Location struct {
	Line   int `json:"line"`
	Column int `json:"column"`
}

// Error gives the message.
func (e Error) Error() string { return e.Message }

// Code is the code that most servers put into the extensions; empty if there is none.
func (e Error) Code() string {
	var extensions struct {
		Code any `json:"code"`
	}
	if json.Unmarshal(e.Extensions, &extensions) != nil {
		return ""
	}
	code, _ := extensions.Code.(string)
	return code
}

// CallError means that an endpoint gave no GraphQL answer.
type CallError struct {
	// URL is the endpoint's address without its query.
	URL string
	// Status is that of the HTTP answer; 0 if none came.
	Status int
	// Sent says that the request may have reached the server. What it asked for
	// may have been done, though the answer is lost.
	Sent bool
	// RetryAfter is how long the server asks to wait; 0 if it does not say.
	RetryAfter time.Duration
	Err        error
}

func (e *CallError) Error() string {
	if e.Status != 0 {
		return fmt.Sprintf("call %s: HTTP status %d: %v", e.URL, e.Status, e.Err)
	}
	return fmt.Sprintf("call %s: %v", e.URL, e.Err)
}

func (e *CallError) Unwrap() error { return e.Err }

// Do sends one request and reads the answer. An answer in the form of GraphQL
// is returned whatever its HTTP status, with its errors; anything else is a
// [*CallError], which wraps [ErrTooLarge], [ErrIncremental] or the context's
// error where they are the cause.
func (c *Client) Do(ctx context.Context, r Request) (Response, error) {
	body, err := json.Marshal(r)
	if err != nil {
		return Response{}, fmt.Errorf("write the request to %s: %w", c.URL(), err)
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	var sent atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { sent.Store(true) }})
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.address.String(), bytes.NewReader(body))
	if err != nil {
		return Response{}, fmt.Errorf("write the request to %s: %w", c.URL(), err)
	}
	setAll(request.Header, c.headers)
	setAll(request.Header, r.Header)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/graphql-response+json, application/json;q=0.9")
	request.Header.Set("User-Agent", c.agent)
	request.Header.Del("Accept-Encoding") // the transport asks for gzip itself, and decodes it
	if request.Header.Get("Idempotency-Key") != "" || request.Header.Get("X-Idempotency-Key") != "" {
		request.GetBody = nil // with such a key the transport would send it again by itself
	}

	fail := func(answer *http.Response, err error) (Response, error) {
		failure := &CallError{URL: c.URL(), Sent: sent.Load() && !errors.Is(err, errElsewhere), Err: err}
		if answer != nil {
			failure.Status, failure.RetryAfter = answer.StatusCode, retryAfter(answer.Header)
		}
		return Response{}, failure
	}
	answer, err := c.http.Do(request)
	if err != nil {
		if wrapped, ok := errors.AsType[*url.Error](err); ok {
			err = wrapped.Err // its text would show the address in full
		}
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("no answer within %s: %w", c.timeout, context.DeadlineExceeded)
		}
		return fail(nil, err)
	}
	defer func() { _ = answer.Body.Close() }()
	media, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	if strings.HasPrefix(media, "multipart/") || media == "text/event-stream" {
		return fail(answer, ErrIncremental)
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, c.max+1))
	if err != nil {
		return fail(answer, fmt.Errorf("read the answer: %w", err))
	}
	if int64(len(text)) > c.max {
		return fail(answer, fmt.Errorf("%w: more than %d bytes; ask for less, or raise the limit", ErrTooLarge, c.max))
	}
	response, err := parseResponse(text)
	if err != nil {
		if excerpt := c.excerpt(text, r.Header); excerpt != "" {
			err = fmt.Errorf("%w: %s", err, excerpt)
		}
		return fail(answer, err)
	}
	if len(response.Errors) > 0 {
		hide(response.Errors, c.hider(r.Header))
	}
	response.Status, response.RetryAfter = answer.StatusCode, retryAfter(answer.Header)
	return response, nil
}

func setAll(to, from http.Header) {
	for name, values := range from {
		to[http.CanonicalHeaderKey(name)] = values
	}
}

// Failures of an answer that leads to where the request is not sent on to.
var (
	errRedirect = errors.New("the answer redirects")
	// errElsewhere is an errRedirect that asks for the same request at another
	// address (307 and 308, RFC 9110 §15.4), so that nothing was done. With any
	// other one it may have been, as forms are answered.
	errElsewhere = fmt.Errorf("%w", errRedirect)
)

// checkRedirect lets a request be repeated as it is (307, 308) at another
// address of the same host, and nowhere else: the headers may hold secrets.
func (c *Client) checkRedirect(next *http.Request, via []*http.Request) error {
	to := *next.URL
	to.RawQuery = ""
	shown := c.hider(nil).Replace(to.Redacted())
	switch from := via[len(via)-1].URL; {
	case len(via) > maxRedirects:
		return fmt.Errorf("%w more than %d times", errElsewhere, maxRedirects)
	case next.Method != http.MethodPost:
		return fmt.Errorf("%w to %s in a way that loses the request; set that address as the url if it is right", errRedirect, shown)
	case from.Hostname() != to.Hostname(), from.Scheme == "https" && to.Scheme != "https",
		port(from) != port(&to) && (port(from) != "80" || port(&to) != "443"):
		return fmt.Errorf("%w to %s, which is sent no credentials; set that address as the url if it is right", errElsewhere, shown)
	}
	return nil
}

func port(u *url.URL) string {
	if u.Scheme == "https" {
		return cmp.Or(u.Port(), "443")
	}
	return cmp.Or(u.Port(), "80")
}

// parseResponse reads an answer (GraphQL spec, October 2021, §7.1). It forgives
// errors that are not objects but texts, which some gateways write, and bytes
// that are no UTF-8.
func parseResponse(text []byte) (Response, error) {
	text = bytes.ToValidUTF8(bytes.TrimPrefix(text, []byte("\ufeff")), []byte("\ufffd"))
	var parts struct {
		Data       json.RawMessage `json:"data"`
		Errors     json.RawMessage `json:"errors"`
		Extensions json.RawMessage `json:"extensions"`
	}
	if err := json.Unmarshal(text, &parts); err != nil {
		return Response{}, errors.New("the answer is no JSON object")
	}
	if parts.Data == nil && parts.Errors == nil {
		return Response{}, errors.New("the answer is no GraphQL answer: it has neither data nor errors")
	}
	r := Response{Data: notNull(parts.Data), Errors: parseErrors(parts.Errors), Extensions: notNull(parts.Extensions)}
	switch {
	case r.Data != nil && r.Data[0] != '{':
		return Response{}, errors.New("the answer is no GraphQL answer: its data is no object")
	case r.Data == nil && len(r.Errors) == 0:
		return Response{}, errors.New("the answer is no GraphQL answer: it has no data, and no error that says why")
	}
	return r, nil
}

func parseErrors(raw json.RawMessage) []Error {
	if raw = notNull(raw); raw == nil {
		return nil
	}
	var entries []json.RawMessage
	if json.Unmarshal(raw, &entries) != nil {
		entries = []json.RawMessage{raw}
	}
	var all []Error
	for _, entry := range entries {
		var e Error
		d := json.NewDecoder(bytes.NewReader(entry))
		d.UseNumber()
		if d.Decode(&e) == nil && e.Message != "" {
			e.Extensions, e.Path = notNull(e.Extensions), path(e.Path)
		} else if e = (Error{}); json.Unmarshal(entry, &e.Message) != nil {
			var loose struct {
				Message    string          `json:"message"`
				Extensions json.RawMessage `json:"extensions"`
			}
			if json.Unmarshal(entry, &loose) == nil && loose.Message != "" {
				e.Message, e.Extensions = loose.Message, notNull(loose.Extensions)
			} else {
				e.Message = string(entry)
			}
		}
		all = append(all, e)
	}
	return all
}

// maxPath bounds the steps of an error's path.
const maxPath = 64

// path is a path if it is one; the first steps of one that is too long.
func path(steps []any) []any {
	steps = steps[:min(len(steps), maxPath)]
	for i, step := range steps {
		switch step := step.(type) {
		case string:
			steps[i] = cut(step, maxExcerpt)
		case json.Number:
		default:
			return nil
		}
	}
	return steps
}

func notNull(raw json.RawMessage) json.RawMessage {
	if string(raw) == "null" {
		return nil
	}
	return raw
}

// excerpt is the start of an answer that was not understood, in one line and
// without the values of the headers and of the address's query that were sent.
func (c *Client) excerpt(text []byte, own http.Header) string {
	line := strings.Join(strings.Fields(cleanText(string(text[:min(len(text), 16*maxExcerpt)]))), " ")
	return cut(c.hider(own).Replace(line), maxExcerpt)
}

// cut shortens a text to a number of characters.
func cut(s string, n int) string {
	for i := range s {
		if n--; n < 0 {
			return s[:i] + "…"
		}
	}
	return s
}

// retryAfter reads a Retry-After header (RFC 9110 §10.2.3).
func retryAfter(h http.Header) time.Duration {
	value := h.Get("Retry-After")
	if seconds, err := strconv.Atoi(value); err == nil {
		return time.Duration(min(max(seconds, 0), int(24*time.Hour/time.Second))) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return min(max(time.Until(at), 0), 24*time.Hour)
	}
	return 0
}
