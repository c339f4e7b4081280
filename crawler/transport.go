package crawler

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
)

// errTooLarge means that a body has more bytes than its bound.
var errTooLarge = errors.New("body is too large")

// encodingError is a content coding that was not asked for and is not decoded.
type encodingError string

func (e encodingError) Error() string { return "content encoding " + string(e) + " is not supported" }

// slackBytes is what a body may be longer on the wire than decoded: the framing
// of a compressed body that holds next to nothing.
const slackBytes = 64 << 10

type limitKey struct{}

// withLimit bounds the decoded body of the requests made under the context.
func withLimit(ctx context.Context, limit int64) context.Context {
	return context.WithValue(ctx, limitKey{}, limit)
}

// transport sends the requests of one crawl: it says who asks, gives the
// source's own headers to the source's own origin only, asks for no encoding
// but gzip, and bounds every body by its decoded bytes, whatever the header
// fields claim.
type transport struct {
	base      http.RoundTripper
	userAgent string
	// own are the source's headers; they are for origin.
	own    map[string]string
	origin string
	limit  int64
	// answered hears the status of each answer; 0 where none came.
	answered func(status int)

	requests atomic.Int64
	bytes    atomic.Int64
}

func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if t.origin != "" && originOf(r.URL) == t.origin {
		for name, value := range t.own {
			r.Header.Set(name, value)
		}
	}
	r.Header.Set("User-Agent", t.userAgent)
	r.Header.Set("Accept-Encoding", "gzip")
	t.requests.Add(1)
	res, err := t.base.RoundTrip(r)
	if err != nil {
		t.answered(0)
		return nil, err
	}
	t.answered(res.StatusCode)
	limit, ok := r.Context().Value(limitKey{}).(int64)
	if !ok {
		limit = t.limit
	}
	if err := t.decode(res, limit); err != nil {
		_ = res.Body.Close()
		return nil, err
	}
	return res, nil
}

// decode replaces the body by its decoded and bounded form.
func (t *transport) decode(res *http.Response, limit int64) error {
	wire := res.Body
	var body io.Reader = wire
	// Uncompressed keeps colly from inflating what is inflated already.
	defer func() { res.Uncompressed = true }()
	switch coding := strings.ToLower(strings.TrimSpace(res.Header.Get("Content-Encoding"))); coding {
	case "", "identity":
	case "gzip", "x-gzip":
		res.Header.Del("Content-Encoding")
		res.Header.Del("Content-Length")
		res.ContentLength = -1
		if res.Body == http.NoBody {
			break
		}
		// A list cut at its bound (robots.txt) has to be readable up to there.
		body = &inflating{wire: &bounded{r: wire, left: limit + slackBytes}}
	default:
		return encodingError(coding)
	}
	res.Body = &countedBody{Reader: &bounded{r: body, left: limit}, Closer: wire, count: &t.bytes}
	return nil
}

// inflating reads the gzip header with the first Read, so that a body which
// never comes (304, HEAD) costs nothing and fails nobody.
type inflating struct {
	wire io.Reader
	gz   *gzip.Reader
}

func (i *inflating) Read(p []byte) (int, error) {
	if i.gz == nil {
		gz, err := gzip.NewReader(i.wire)
		if err != nil {
			if errors.Is(err, io.EOF) {
				return 0, io.EOF
			}
			return 0, fmt.Errorf("inflate the body: %w", err)
		}
		i.gz = gz
	}
	return i.gz.Read(p)
}

// bounded fails with errTooLarge where more than left bytes come.
type bounded struct {
	r    io.Reader
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.r.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return n - 1, errTooLarge
	}
	return n, err
}

type countedBody struct {
	io.Reader
	io.Closer
	count *atomic.Int64
}

func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	b.count.Add(int64(n))
	return n, err
}
