package doctor

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/crawler"
	"github.com/docseek/docseek/graphql/gateway"
	"github.com/docseek/docseek/search"
)

// DataDir looks whether the folder that holds the index can be written.
func DataDir(dir string) Probe {
	return Probe{Name: "data directory", Look: func(context.Context) (Finding, error) {
		const remedy = "make it writable for this user, or name another one with --data-dir"
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return Finding{}, problem(remedy, "make the data directory: %w", err)
		}
		f, err := os.CreateTemp(dir, "doctor-*")
		if err != nil {
			return Finding{}, problem(remedy, "write into the data directory: %w", err)
		}
		_, err = f.Write(make([]byte, 1<<20))
		err = errors.Join(err, f.Close(), os.Remove(f.Name()))
		if err != nil {
			return Finding{}, problem("free some space: an index takes about 5 KiB per chunk", "write into %s: %w", dir, err)
		}
		return Finding{Detail: filepath.Clean(dir) + " can be written"}, nil
	}}
}

// Index looks whether the index can be read and how its sources do.
func Index(where string, list func(context.Context) (search.Listing, error)) Probe {
	return Probe{Name: "index", Look: func(ctx context.Context) (Finding, error) {
		listed, err := list(ctx)
		if err != nil {
			return Finding{}, problem("see that the store runs and that its address and key are right", "read the index: %w", err)
		}
		if len(listed.Sources) == 0 {
			return Finding{Detail: where + " holds no source yet", Advice: "docseek reindex URL, or docseek serve URL, makes the first"}, nil
		}
		found := make([]string, len(listed.Sources))
		advice := ""
		for i, s := range listed.Sources {
			found[i] = fmt.Sprintf("%s: %s, %d pages, %d chunks", s.Name, s.State, s.Pages, s.Chunks)
			if s.State != search.Ready {
				found[i] += " (" + s.Reason + ")"
				advice = "docseek reindex --source NAME renews a source; docseek status has its last run"
			}
		}
		return Finding{Detail: where + " holds " + strings.Join(found, "; "), Advice: advice}, nil
	}}
}

// Embedder looks whether a text can be embedded. embed returns what describes the
// embedder, and the number of dimensions of a vector it made.
func Embedder(embed func(context.Context) (description string, dimension int, err error)) Probe {
	return Probe{Name: "embedder", Look: func(ctx context.Context) (Finding, error) {
		description, dimension, err := embed(ctx)
		if err != nil {
			return Finding{}, problem("search goes on by words; set embedder.base_url, model and api_key right, or provider: builtin", "embed a text: %w", err)
		}
		return Finding{Detail: fmt.Sprintf("%s, %d dimensions", description, dimension)}, nil
	}}
}

// Reranker looks whether passages are scored within the time that a search has for it.
func Reranker(within time.Duration, rerank func(ctx context.Context, query string, passages []string) ([]float64, error)) Probe {
	return Probe{Name: "reranker", Look: func(ctx context.Context) (Finding, error) {
		ctx, cancel := context.WithTimeout(ctx, within)
		defer cancel()
		began := time.Now()
		if _, err := rerank(ctx, "does it work?", []string{"It works.", "Something else."}); err != nil {
			return Finding{}, problem("search goes on without it; set reranker.url, model and api_key right, or raise timeout", "score two passages: %w", err)
		}
		return Finding{Detail: fmt.Sprintf("scored two passages in %v, of the %v of a search", time.Since(began).Round(time.Millisecond), within)}, nil
	}}
}

// Access looks whether what says who may use the server can be read.
func Access(file string, open func() error) Probe {
	return Probe{Name: "access", Look: func(context.Context) (Finding, error) {
		if err := open(); err != nil {
			return Finding{}, problem("docseek token new prints the lines of the file", "read who may use the server: %w", err)
		}
		return Finding{Detail: file + " is fine"}, nil
	}}
}

// Crawler reads sites; *crawler.Crawler is one.
type Crawler interface {
	Crawl(ctx context.Context, source docseek.Source, known func(url string) (crawler.Known, bool),
		visit func(context.Context, crawler.Result) error) (crawler.Summary, error)
}

// Source looks whether a source's robots.txt and start can be read, and one of
// its pages.
func Source(c Crawler, source docseek.Source) Probe {
	return Probe{Name: "source " + source.Name, Look: func(ctx context.Context) (Finding, error) {
		source.MaxPages = 1
		var page *crawler.Result
		summary, err := c.Crawl(ctx, source, func(string) (crawler.Known, bool) { return crawler.Known{}, false },
			func(_ context.Context, r crawler.Result) error {
				if page == nil || page.Fate != crawler.Fetched {
					page = &r
				}
				return nil
			})
		switch {
		case errors.Is(err, crawler.ErrUnreachable):
			return Finding{}, problem("see that the address is right and that this machine reaches it (HTTPS_PROXY, SSL_CERT_FILE)", "read the start: %w", err)
		case err != nil:
			return Finding{}, problem("docseek crawl --explain URL tells what becomes of one page", "read the start: %w", err)
		case page == nil:
			return Finding{}, problem("see include and exclude of the source", "no page of %s is asked for", source.Start)
		case page.Fate != crawler.Fetched:
			return Finding{}, problem("docseek crawl --explain "+page.URL+" --source "+source.Name+" tells why",
				"read a page, %s: %s %s", page.URL, page.Fate, page.Reason)
		}
		chars := 0
		for _, s := range page.Document.Sections {
			chars += len(s.Markdown)
		}
		found := Finding{Detail: fmt.Sprintf("found by %s; %s gives %q with %d sections, %d characters",
			summary.Discovery, page.URL, page.Document.Title, len(page.Document.Sections), chars)}
		if chars == 0 {
			found.Advice = "the page has no text that is found: name its main part with content"
		}
		return found, nil
	}}
}

// API is one GraphQL endpoint; *gateway.Gateway with one endpoint is one.
type API interface {
	Reload(context.Context) error
	Endpoints() []gateway.Info
}

// Endpoint looks whether an endpoint's schema can be had.
func Endpoint(name string, api API) Probe {
	return Probe{Name: "endpoint " + name, Look: func(ctx context.Context) (Finding, error) {
		if err := api.Reload(ctx); err != nil {
			return Finding{}, problem("see url and headers of the endpoint; where introspection is off, name an SDL file as its schema",
				"load the schema: %w", err)
		}
		detail := "the schema is there"
		for _, e := range api.Endpoints() {
			if e.Introspection != "" {
				detail = "the schema is there, asked for by introspection " + e.Introspection
			}
		}
		return Finding{Detail: detail}, nil
	}}
}

// Listen looks whether the address to serve on is free, or docseek serves there.
func Listen(address string, client *http.Client) Probe {
	return Probe{Name: "listen " + address, Look: func(ctx context.Context) (Finding, error) {
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
		if err == nil {
			return Finding{Detail: "the address is free"}, l.Close()
		}
		if _, alive := get(ctx, client, "http://"+Reachable(address)+"/healthz"); alive == nil {
			return Finding{Detail: "a server answers there"}, nil
		}
		return Finding{}, problem("name another one with server.listen or --listen", "take the address: %w", err)
	}}
}

// Server looks whether a server answers at an address.
func Server(address string, client *http.Client) Probe {
	return Probe{Name: "server", Look: func(ctx context.Context) (Finding, error) {
		base := strings.TrimRight(address, "/")
		if _, err := get(ctx, client, base+"/healthz"); err != nil {
			return Finding{}, problem("see whether docseek serve runs, and what its log says", "ask %s/healthz: %w", base, err)
		}
		return Finding{Detail: base + " answers"}, nil
	}}
}

// Reachable is an address, HOST:PORT, under which this machine reaches what
// listens on address.
func Reachable(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return net.JoinHostPort(host, port)
}

// expiry is how long before its end a certificate is worth a word.
const expiry = 14 * 24 * time.Hour

// PublicURL looks at the server from outside: whether the address that clients
// are told answers to health and speaks MCP, through whatever proxy stands before it.
func PublicURL(address string, client *http.Client) Probe {
	return Probe{Name: "public URL", Look: func(ctx context.Context) (Finding, error) {
		base := strings.TrimRight(address, "/")
		const remedy = "see that docseek serve runs, and that the proxy before it passes on /mcp, /healthz and /.well-known/"
		state, err := get(ctx, client, base+"/healthz")
		if err != nil {
			return Finding{}, problem(remedy, "ask %s/healthz: %w", base, err)
		}
		status, challenge, err := discover(ctx, client, base+"/mcp")
		if err != nil {
			return Finding{}, problem(remedy, "speak MCP with %s/mcp: %w", base, err)
		}
		found := Finding{Detail: base + "/mcp speaks MCP"}
		switch {
		case status == http.StatusUnauthorized && challenge != "":
			found.Detail = base + "/mcp asks for a token, as it should"
		case status == http.StatusUnauthorized:
			return Finding{}, problem("let the proxy pass on WWW-Authenticate", "%s/mcp answers 401 without a challenge", base)
		case status == http.StatusForbidden:
			return Finding{}, problem("add the host to server.allowed_hosts, or let the proxy pass on Host", "%s/mcp answers 403", base)
		case status != http.StatusOK:
			return Finding{}, problem(remedy, "%s/mcp answers %d", base, status)
		}
		if u, err := url.Parse(base); err == nil && u.Scheme == "http" && !isLoopback(u.Hostname()) {
			found.Advice = "clients send their tokens in plain text: serve it by https"
		}
		if state != nil && len(state.PeerCertificates) > 0 {
			if end := state.PeerCertificates[0].NotAfter; time.Until(end) < expiry {
				found.Advice = "renew the certificate: it ends on " + end.Format(time.DateOnly)
			}
		}
		return found, nil
	}}
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// get asks for an address that has to answer 200.
func get(ctx context.Context, client *http.Client, address string) (*tls.ConnectionState, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	res, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("it answers %s", res.Status)
	}
	return res.TLS, nil
}

// maxAnswer bounds what is read of an answer.
const maxAnswer = 64 << 10

// discover begins a conversation as a client of any revision does.
func discover(ctx context.Context, client *http.Client, address string) (status int, challenge string, _ error) {
	const message = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",` +
		`"capabilities":{},"clientInfo":{"name":"docseek-doctor","version":"1"}}}`
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(message))
	if err != nil {
		return 0, "", err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	res, err := client.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return res.StatusCode, res.Header.Get("WWW-Authenticate"), nil
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return 0, "", err
	}
	var answer struct {
		Result struct {
			ServerInfo struct {
				Name string `json:"name"`
			} `json:"serverInfo"`
		} `json:"result"`
	}
	_, data, streamed := bytes.Cut(body, []byte("data: "))
	if !streamed {
		data = body
	}
	data, _, _ = bytes.Cut(data, []byte("\n\n"))
	if err := json.Unmarshal(data, &answer); err != nil || answer.Result.ServerInfo.Name == "" {
		return 0, "", errors.New("what answers is no MCP server")
	}
	return res.StatusCode, "", nil
}
