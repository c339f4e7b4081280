package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/docseek/docseek/internal/demo/api"
	"github.com/docseek/docseek/internal/fakesite"
	"github.com/docseek/docseek/search"
	"github.com/docseek/docseek/search/local"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"docseek": main})
}

// TestScripts runs every script of testdata/script against the real commands
// and a site on loopback. Beside what testscript has, a script can use:
//
//	site NAME               serve testdata/sites/NAME.txtar as $SITE
//	set 'PATH OPTIONS' FILE  put a file of the script at an address of the site
//	drop PATH               take an address away
//	hold PATH, release PATH  let requests for an address wait
//	asked PATH              wait until a held address is asked for
//	exitcode N COMMAND…     the command ends with N
//	json FILE KEY VALUE     the value at a dotted key is VALUE (* is anything; the key len counts a list)
//	freeport                $ADDR is an address to listen on
//	up URL                  wait until the URL answers
//	request FILE METHOD URL [BODY]  the answer's status and body go to FILE; $TOKEN is sent where it is set
//	until URL PATTERN       wait until the answer matches
//	api                     serve the demo's GraphQL API at $API/graphql, on the host $APIHOST
//	tools NAME…             wait until the operations that are tools at $ADDR are these
//	call FILE NAME ARGUMENTS  call a tool at $ADDR; its structured answer goes to FILE, and an error's text to FILE.error
//	model NAME DIMENSION    serve an embeddings API at $MODEL; model down ends it, and holds the address
//	stored                  wait until the index in $DOCSEEK_DATA_DIR has a generation
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("DOCSEEK_DATA_DIR", filepath.Join(e.WorkDir, "data"))
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("NO_PROXY", "127.0.0.1")
			e.Values[siteKey{}] = &served{held: map[string]func(){}}
			e.Values[embeddingsKey{}] = &embeddings{}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"site": cmdSite, "set": cmdSet, "drop": cmdDrop, "hold": cmdHold, "release": cmdRelease, "asked": cmdAsked,
			"json": cmdJSON, "exitcode": cmdExitCode, "freeport": cmdFreeport, "up": cmdUp, "stored": cmdStored,
			"api": cmdAPI, "request": cmdRequest, "until": cmdUntil, "tools": cmdTools, "call": cmdCall, "model": cmdModel,
		},
	})
}

// patience bounds what a script waits for; a test that passes does not need it.
const patience = 60 * time.Second

type (
	siteKey struct{}
	served  struct {
		*fakesite.Site
		held map[string]func()
	}
)

func site(ts *testscript.TestScript) *served { return ts.Value(siteKey{}).(*served) }

func arguments(ts *testscript.TestScript, neg bool, args []string, n int, usage string) {
	if neg || len(args) != n {
		ts.Fatalf("usage: %s", usage)
	}
}

func cmdSite(ts *testscript.TestScript, neg bool, args []string) {
	arguments(ts, neg, args, 1, "site NAME")
	archive, err := os.ReadFile(filepath.Join(testdata(ts), "sites", args[0]+".txtar"))
	ts.Check(err)
	s, err := fakesite.New(string(archive))
	ts.Check(err)
	ts.Defer(s.Close)
	site(ts).Site = s
	ts.Setenv("SITE", s.Base)
}

// testdata is the package's folder of test files; scripts run elsewhere.
func testdata(ts *testscript.TestScript) string {
	dir, err := filepath.Abs("testdata")
	ts.Check(err)
	return dir
}

func cmdSet(ts *testscript.TestScript, neg bool, args []string) {
	arguments(ts, neg, args, 2, "set 'PATH OPTIONS' FILE")
	ts.Check(site(ts).Set(args[0], ts.ReadFile(args[1])))
}

func cmdAPI(ts *testscript.TestScript, neg bool, args []string) {
	arguments(ts, neg, args, 0, "api")
	handler, err := api.New()
	ts.Check(err)
	mux := http.NewServeMux()
	mux.Handle("/graphql", handler)
	web := httptest.NewServer(mux)
	ts.Defer(web.Close)
	ts.Setenv("API", web.URL)
	ts.Setenv("APIHOST", web.Listener.Addr().String())
}

func cmdDrop(ts *testscript.TestScript, neg bool, args []string) {
	arguments(ts, neg, args, 1, "drop PATH")
	site(ts).Remove(args[0])
}

func cmdHold(ts *testscript.TestScript, neg bool, args []string) {
	arguments(ts, neg, args, 1, "hold PATH")
	site(ts).held[args[0]] = site(ts).Hold(args[0])
}

func cmdRelease(ts *testscript.TestScript, neg bool, args []string) {
	arguments(ts, neg, args, 1, "release PATH")
	site(ts).held[args[0]]()
}

func cmdAsked(ts *testscript.TestScript, neg bool, args []string) {
	arguments(ts, neg, args, 1, "asked PATH")
	wait(ts, args[0]+" was not asked for", func() bool { return site(ts).Waiting(args[0]) > 0 })
}

func wait(ts *testscript.TestScript, complaint string, happened func() bool) {
	deadline, tick := time.After(patience), time.NewTicker(20*time.Millisecond)
	defer tick.Stop()
	for !happened() {
		select {
		case <-deadline:
			ts.Fatalf("%s", complaint)
		case <-tick.C:
		}
	}
}

func cmdJSON(ts *testscript.TestScript, neg bool, args []string) {
	arguments(ts, neg, args, 3, "json FILE KEY VALUE")
	var v any
	if err := json.Unmarshal([]byte(ts.ReadFile(args[0])), &v); err != nil {
		ts.Fatalf("%s is no JSON: %v", args[0], err)
	}
	for key := range strings.SplitSeq(args[1], ".") {
		switch node := v.(type) {
		case map[string]any:
			next, ok := node[key]
			if !ok {
				ts.Fatalf("there is no %q at %s", key, args[1])
			}
			v = next
		case []any:
			if key == "len" {
				v = float64(len(node))
				continue
			}
			i, err := strconv.Atoi(key)
			if err != nil || i >= len(node) {
				ts.Fatalf("there is no element %q at %s", key, args[1])
			}
			v = node[i]
		default:
			ts.Fatalf("%s leads into %v", args[1], v)
		}
	}
	if got := fmt.Sprint(v); args[2] != "*" && got != args[2] {
		ts.Fatalf("%s is %s, want %s", args[1], got, args[2])
	}
}

func cmdExitCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exitcode N COMMAND…")
	}
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		failed, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%v", err)
		}
		got = failed.ExitCode()
	}
	if args[0] != strconv.Itoa(got) {
		ts.Fatalf("exit code %d, want %s", got, args[0])
	}
}

func cmdFreeport(ts *testscript.TestScript, neg bool, args []string) {
	arguments(ts, neg, args, 0, "freeport")
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	ts.Check(err)
	_, port, err := net.SplitHostPort(listener.Addr().String())
	ts.Check(err)
	ts.Setenv("ADDR", listener.Addr().String())
	ts.Setenv("PORT", port)
	ts.Check(listener.Close())
}

func cmdUp(ts *testscript.TestScript, neg bool, args []string) {
	arguments(ts, neg, args, 1, "up URL")
	wait(ts, args[0]+" does not answer", func() bool {
		response, err := http.Get(args[0])
		if err != nil {
			return false
		}
		_ = response.Body.Close()
		return response.StatusCode == http.StatusOK
	})
}

func cmdRequest(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 || len(args) > 4 {
		ts.Fatalf("usage: request FILE METHOD URL [BODY]")
	}
	body := ""
	if len(args) == 4 {
		body = args[3]
	}
	r, err := http.NewRequestWithContext(context.Background(), args[1], args[2], strings.NewReader(body))
	ts.Check(err)
	if token := ts.Getenv("TOKEN"); token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := http.DefaultClient.Do(r)
	ts.Check(err)
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), fmt.Appendf(nil, "%d\n%s", response.StatusCode, answer), 0o600))
}

func cmdUntil(ts *testscript.TestScript, neg bool, args []string) {
	arguments(ts, neg, args, 2, "until URL PATTERN")
	pattern, err := regexp.Compile("(?m)" + args[1])
	ts.Check(err)
	wait(ts, args[0]+" has no answer that matches "+args[1], func() bool {
		response, err := http.Get(args[0])
		if err != nil {
			return false
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		return err == nil && pattern.Match(body)
	})
}

func cmdStored(ts *testscript.TestScript, neg bool, args []string) {
	arguments(ts, neg, args, 0, "stored")
	ctx := context.Background()
	store, err := local.Open(ctx, filepath.Join(ts.Getenv("DOCSEEK_DATA_DIR"), "index"), local.Options{})
	ts.Check(err)
	defer store.Close()
	wait(ts, "nothing was published", func() bool {
		reader, err := store.Reader(ctx)
		ts.Check(err)
		infos, err := reader.Sources(ctx)
		ts.Check(err)
		return len(infos) > 0 && infos[0].Embedded > 0
	})
}

// TestStdio runs the server as an agent does, with debug logging while it crawls
// and indexes. Every line it prints is of the protocol, and its answers are those
// of the command line.
func TestStdio(t *testing.T) {
	archive, err := os.ReadFile("testdata/sites/docs.txtar")
	if err != nil {
		t.Fatal(err)
	}
	s := fakesite.Start(t, string(archive))
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	data := t.TempDir()
	ended := make(chan int, 1)
	go func() {
		ended <- run([]string{"--data-dir", data, "--log-level", "debug", "serve", "--stdio", s.URL("/sitemap.xml")},
			streams{in: in, out: out, err: io.Discard}, []string{"NO_PROXY=127.0.0.1"})
		_ = out.Close()
	}()
	lines := bufio.NewScanner(fromServer)
	lines.Buffer(nil, 1<<20)
	ask := func(message string) map[string]any {
		t.Helper()
		if _, err := io.WriteString(toServer, message+"\n"); err != nil {
			t.Fatal(err)
		}
		for lines.Scan() {
			var m map[string]any
			if err := json.Unmarshal(lines.Bytes(), &m); err != nil || m["jsonrpc"] != "2.0" {
				t.Fatalf("standard output has the line %q", lines.Text())
			}
			if m["id"] != nil {
				return m
			}
		}
		t.Fatalf("the server ended: %v", lines.Err())
		return nil
	}
	ask(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	if _, err := io.WriteString(toServer, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	const query = "how are retries spaced"
	var tool search.Answer
	deadline := time.Now().Add(patience)
	for {
		m := ask(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"search_docs","arguments":{"query":"` + query + `"}}}`)
		content, _ := json.Marshal(m["result"])
		var answer struct{ StructuredContent search.Answer }
		if err := json.Unmarshal(content, &answer); err != nil {
			t.Fatal(err)
		}
		tool = answer.StructuredContent
		if len(tool.Results) > 0 && tool.Mode == search.Hybrid && !tool.Degraded {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("no hybrid answer: %s", content)
		}
	}
	if url := tool.Results[0].URL; url != s.URL("/guide/retries#backoff") {
		t.Errorf("first hit is %s", url)
	}
	var printed strings.Builder
	if code := run([]string{"--data-dir", data, "--json", "search", query}, streams{out: &printed, err: t.Output()}, nil); code != exitDone {
		t.Fatalf("search on the command line: exit code %d", code)
	}
	var cli search.Answer
	if err := json.Unmarshal([]byte(printed.String()), &cli); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(cli, tool); diff != "" {
		t.Errorf("the tool answers differently (-command line +tool):\n%s", diff)
	}
	if err := toServer.Close(); err != nil {
		t.Fatal(err)
	}
	if code := <-ended; code != exitDone {
		t.Errorf("exit code %d after the client went", code)
	}
}
