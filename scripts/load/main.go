// Command load calls a running docseek server as many agents do, and reports how
// long its answers took.
//
//	load -url http://127.0.0.1:8080/mcp -questions FILE.jsonl [-rate 50] [-duration 60s] [-workers 16] [-idle 10000]
//
// Calls are mixed: 30 % search_docs by meaning and words, 20 % by words alone (at
// -lexical, a server without its embedder), 20 % read_docs, 10 % list_docs, 20 %
// search_graphql_schema. With a rate, calls begin at their time whether or not the
// ones before have ended, and a wait for a worker counts; without one, each worker
// calls as soon as it has an answer. -metrics reads memory and goroutines.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1) //nolint:forbidigo // this is a main
	}
}

type options struct {
	url, lexical, metrics, questions, terms string
	duration                                time.Duration
	rate                                    float64
	workers, idle                           int
}

func run(ctx context.Context, args []string, out io.Writer) error {
	var o options
	f := flag.NewFlagSet("load", flag.ContinueOnError)
	f.StringVar(&o.url, "url", "", "the server's /mcp")
	f.StringVar(&o.lexical, "lexical", "", "/mcp of a server that searches by words alone; empty means the same server")
	f.StringVar(&o.metrics, "metrics", "", "the server's /metrics; empty leaves memory and goroutines out")
	f.StringVar(&o.questions, "questions", "", "JSON lines with a key query")
	f.StringVar(&o.terms, "terms", "account,payout,balance,iban,rate", "what search_graphql_schema is asked for")
	f.DurationVar(&o.duration, "duration", time.Minute, "how long")
	f.Float64Var(&o.rate, "rate", 0, "calls per second; 0 means as many as the workers make")
	f.IntVar(&o.workers, "workers", 8, "calls at once")
	f.IntVar(&o.idle, "idle", 0, "clients that are connected and silent")
	if err := f.Parse(args); err != nil {
		return err
	}
	if o.url == "" || o.questions == "" {
		return errors.New("-url and -questions are needed")
	}
	questions, err := readQuestions(o.questions)
	if err != nil {
		return err
	}
	l := &load{options: o, questions: questions, client: &http.Client{
		Timeout: 30 * time.Second, Transport: &http.Transport{MaxIdleConns: o.workers * 2, MaxIdleConnsPerHost: o.workers * 2},
	}}
	if l.lexical == "" {
		l.lexical = l.url
	}
	// The pages to read are those that a few searches find.
	for _, q := range questions[:min(len(questions), 20)] {
		found, err := l.call(ctx, l.url, "search_docs", map[string]any{"query": q})
		if err != nil {
			return fmt.Errorf("a first search: %w", err)
		}
		l.pages = append(l.pages, found.urls()...)
	}
	if len(l.pages) == 0 {
		return errors.New("no search found anything: is the index filled?")
	}
	closeIdle, err := openIdle(ctx, o.url, o.idle)
	defer closeIdle()
	if err != nil {
		return err
	}
	return l.measure(ctx, out)
}

func readQuestions(name string) ([]string, error) {
	file, err := os.Open(name) //nolint:gosec // the user names the file
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var all []string
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var q struct {
			Query string `json:"query"`
		}
		if err := json.Unmarshal(lines.Bytes(), &q); err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		if q.Query != "" {
			all = append(all, q.Query)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s has no questions", name)
	}
	return all, lines.Err()
}

// openIdle connects clients that have said hello and then say nothing.
func openIdle(ctx context.Context, address string, n int) (closeAll func(), _ error) {
	var open []net.Conn
	closeAll = func() {
		for _, c := range open {
			_ = c.Close()
		}
	}
	u, err := url.Parse(address)
	if err != nil {
		return closeAll, err
	}
	const hello = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	request := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"+
		"Content-Length: %d\r\n\r\n%s", u.Path, u.Host, len(hello), hello)
	for range n {
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp", u.Host)
		if err != nil {
			return closeAll, fmt.Errorf("connect client %d: %w", len(open)+1, err)
		}
		open = append(open, c)
		if _, err := io.WriteString(c, request); err != nil {
			return closeAll, err
		}
		response, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			return closeAll, fmt.Errorf("client %d: %w", len(open), err)
		}
		_, err = io.Copy(io.Discard, response.Body)
		if err = errors.Join(err, response.Body.Close()); err != nil || response.StatusCode != http.StatusOK {
			return closeAll, fmt.Errorf("client %d: status %d, %w", len(open), response.StatusCode, err)
		}
	}
	return closeAll, nil
}

type load struct {
	options
	questions, pages []string
	client           *http.Client

	mu     sync.Mutex
	took   map[string][]time.Duration
	faults map[string]int
}

// answer is what of a tool's result is looked at.
type answer struct {
	Result struct {
		Structured struct {
			Results []struct {
				URL string `json:"url"`
			} `json:"results"`
		} `json:"structuredContent"`
		IsError bool `json:"isError"`
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
	} `json:"result"`
	Error *struct {
		Message string `json:"message"`
	} `json:"error"`
}

func (a answer) urls() []string {
	var all []string
	for _, r := range a.Result.Structured.Results {
		all = append(all, r.URL)
	}
	return all
}

func (l *load) call(ctx context.Context, address, tool string, arguments map[string]any) (answer, error) {
	var a answer
	body, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{"name": tool, "arguments": arguments},
	})
	if err != nil {
		return a, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return a, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("MCP-Protocol-Version", "2025-11-25")
	response, err := l.client.Do(r)
	if err != nil {
		return a, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	switch {
	case err != nil:
		return a, err
	case response.StatusCode != http.StatusOK:
		return a, fmt.Errorf("status %d", response.StatusCode)
	}
	if err := json.Unmarshal(text, &a); err != nil {
		return a, err
	}
	switch {
	case a.Error != nil:
		return a, errors.New(a.Error.Message)
	case a.Result.IsError:
		return a, errors.New(a.Result.Content[0].Text)
	}
	return a, nil
}

// one makes one call of the mix.
func (l *load) one(ctx context.Context, random *rand.Rand, began time.Time) {
	pick := func(from []string) string { return from[random.IntN(len(from))] }
	var kind string
	var err error
	var found answer
	switch p := random.IntN(10); {
	case p < 3:
		kind = "search_docs hybrid"
		found, err = l.call(ctx, l.url, "search_docs", map[string]any{"query": pick(l.questions)})
	case p < 5:
		kind = "search_docs lexical"
		found, err = l.call(ctx, l.lexical, "search_docs", map[string]any{"query": pick(l.questions)})
	case p < 7:
		kind = "read_docs"
		_, err = l.call(ctx, l.url, "read_docs", map[string]any{"url": pick(l.pages)})
	case p < 8:
		kind = "list_docs"
		_, err = l.call(ctx, l.url, "list_docs", map[string]any{})
	default:
		kind = "search_graphql_schema"
		_, err = l.call(ctx, l.url, kind, map[string]any{"terms": []string{pick(strings.Split(l.terms, ","))}})
	}
	if ctx.Err() != nil {
		return // the end came first
	}
	took := time.Since(began)
	if err == nil && strings.HasPrefix(kind, "search_docs") && len(found.urls()) == 0 {
		err = errors.New("an empty answer")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.took[kind] = append(l.took[kind], took)
	if err != nil {
		l.faults[kind+": "+err.Error()]++
	}
}

func (l *load) measure(ctx context.Context, out io.Writer) error {
	l.took, l.faults = map[string][]time.Duration{}, map[string]int{}
	before, err := l.gauges(ctx)
	if err != nil {
		return err
	}
	begins := make(chan time.Time)
	end, cancel := context.WithTimeout(ctx, l.duration)
	defer cancel()
	var group sync.WaitGroup
	for i := range l.workers {
		group.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(i))) //nolint:gosec // a mix that is the same each time
			for {
				select {
				case began := <-begins:
					l.one(end, random, began)
				case <-end.Done():
					return
				}
			}
		})
	}
	started := time.Now()
	l.begin(end, begins)
	group.Wait()
	seconds := time.Since(started).Seconds()
	after, err := l.gauges(ctx)
	if err != nil {
		return err
	}
	return l.report(out, seconds, before, after)
}

// begin hands out the times at which calls begin, until the end.
func (l *load) begin(end context.Context, begins chan<- time.Time) {
	next := time.Now()
	for end.Err() == nil {
		began := time.Now()
		if l.rate > 0 {
			next = next.Add(time.Duration(float64(time.Second) / l.rate))
			select {
			case <-time.After(time.Until(next)):
			case <-end.Done():
			}
			began = next
		}
		select {
		case begins <- began:
		case <-end.Done():
		}
	}
}

// gauges are memory and goroutines of the server.
func (l *load) gauges(ctx context.Context) (map[string]float64, error) {
	values := map[string]float64{}
	if l.metrics == "" {
		return values, nil
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, l.metrics, nil)
	if err != nil {
		return nil, err
	}
	response, err := l.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		if name, value, ok := strings.Cut(lines.Text(), " "); ok && !strings.HasPrefix(name, "#") {
			if number, err := strconv.ParseFloat(value, 64); err == nil {
				values[name] = number
			}
		}
	}
	return values, lines.Err()
}

func (l *load) report(out io.Writer, seconds float64, before, after map[string]float64) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%-22s %8s %9s %9s %9s %9s\n", "", "calls", "p50 ms", "p95 ms", "p99 ms", "max ms")
	row := func(name string, took []time.Duration) {
		slices.Sort(took)
		at := func(q float64) float64 { return took[int(q*float64(len(took)-1))].Seconds() * 1000 }
		fmt.Fprintf(&b, "%-22s %8d %9.1f %9.1f %9.1f %9.1f\n", name, len(took), at(.5), at(.95), at(.99), at(1))
	}
	var all []time.Duration
	kinds := []string{"search_docs hybrid", "search_docs lexical", "read_docs", "list_docs", "search_graphql_schema"}
	for _, kind := range kinds {
		if took := l.took[kind]; len(took) > 0 {
			row(kind, took)
			all = append(all, took...)
		}
	}
	if len(all) == 0 {
		return errors.New("no call ended in the time")
	}
	row("all", all)
	failed := 0
	for _, n := range l.faults {
		failed += n
	}
	fmt.Fprintf(&b, "%.1f calls/s over %.0f s, %d workers, %d idle clients; %d failed\n", float64(len(all))/seconds, seconds, l.workers, l.idle, failed)
	for _, g := range []struct {
		name, label string
		unit        float64
	}{
		{"process_resident_memory_bytes", "RSS MB", 1e6}, {"go_goroutines", "goroutines", 1}, {"process_cpu_seconds_total", "CPU s", 1},
	} {
		if len(after) > 0 {
			fmt.Fprintf(&b, "%-12s %9.1f before, %9.1f after\n", g.label, before[g.name]/g.unit, after[g.name]/g.unit)
		}
	}
	for fault, n := range l.faults {
		fmt.Fprintf(&b, "%d × %s\n", n, fault)
	}
	if _, err := io.WriteString(out, b.String()); err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d calls failed", failed, len(all))
	}
	return nil
}
