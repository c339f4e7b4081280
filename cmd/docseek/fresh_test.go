package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/docseek/docseek/internal/fakesite"
	"github.com/docseek/docseek/search"
)

// TestServerShowsWhatAnotherProcessPublishes asks a server without a pause while
// another process renews the index. Every answer is of one edition of the site,
// none is empty, and the new edition is served without a restart.
func TestServerShowsWhatAnotherProcessPublishes(t *testing.T) {
	const pages = 30
	site := fakesite.Start(t, "-- /x --\n")
	edit := func(edition string) {
		t.Helper()
		var list strings.Builder
		for i := range pages {
			path := fmt.Sprintf("/%d.html", i)
			list.WriteString("<url><loc>" + path + "</loc></url>")
			if err := site.Set(path, fmt.Sprintf("<main><h1>Page %d</h1><p>The %s edition tells how money is moved in case %d.</p></main>", i, edition, i)); err != nil {
				t.Fatal(err)
			}
		}
		if err := site.Set("/sitemap.xml", "<urlset>"+list.String()+"</urlset>"); err != nil {
			t.Fatal(err)
		}
	}
	environ := append(os.Environ(), "DOCSEEK_DATA_DIR="+t.TempDir(), "NO_PROXY=127.0.0.1")
	docseek := func(args ...string) *exec.Cmd {
		c := exec.CommandContext(t.Context(), "docseek", args...)
		c.Env = environ
		return c
	}
	reindex := func() {
		t.Helper()
		if out, err := docseek("reindex", site.URL("/sitemap.xml")).CombinedOutput(); err != nil {
			t.Fatalf("reindex: %v\n%s", err, out)
		}
	}
	edit("first")
	reindex()

	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	server := docseek("serve", "--no-schedule", "--listen", address)
	var log bytes.Buffer
	server.Stderr = &log
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	ask := func() (search.Answer, error) {
		const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_docs","arguments":{"query":"how is money moved"}}}`
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+"/mcp", strings.NewReader(call))
		if err != nil {
			return search.Answer{}, err
		}
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Accept", "application/json, text/event-stream")
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return search.Answer{}, err
		}
		defer response.Body.Close()
		var m struct {
			Result struct{ StructuredContent search.Answer }
		}
		err = json.NewDecoder(response.Body).Decode(&m)
		return m.Result.StructuredContent, err
	}
	editions := func(a search.Answer) []string {
		var found []string
		for _, hit := range a.Results {
			found = append(found, strings.Fields(hit.Text)[1])
		}
		slices.Sort(found)
		return slices.Compact(found)
	}
	deadline := time.Now().Add(patience)
	for {
		if _, err := ask(); err == nil {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("the server does not answer: %v", err)
		}
		time.Sleep(20 * time.Millisecond)
	}

	var published atomic.Bool
	var group errgroup.Group
	for range 2 {
		group.Go(func() error {
			for {
				a, err := ask()
				if err != nil {
					return err
				}
				seen := editions(a)
				if len(seen) != 1 || a.Mode != search.Hybrid || a.Degraded {
					return fmt.Errorf("an answer of editions %q: %+v", seen, a)
				}
				if published.Load() && seen[0] == "second" {
					return nil
				}
				if time.Now().After(deadline) {
					return fmt.Errorf("the server still shows the %s edition", seen[0])
				}
			}
		})
	}
	edit("second")
	reindex()
	published.Store(true)
	if err := group.Wait(); err != nil {
		t.Error(err)
	}
	if err := server.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := server.Wait(); err != nil {
		t.Errorf("the server ended with %v:\n%s", err, log.String())
	}
}
