//go:build qdrant

package qdrant

import (
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/search"
)

// freeAddress is one of this machine that nothing listens on.
func freeAddress(t *testing.T) (port int) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return l.Addr().(*net.TCPAddr).Port
}

// TestNodeKilled kills one of three nodes: searches through the others go on. It
// starts again from its log, with every kind of change in it, and runs go on.
func TestNodeKilled(t *testing.T) {
	ctx := t.Context()
	var nodes []*server
	var stores []*Store
	var envs [][]string
	first := ""
	for range 3 {
		port := freeAddress(t)
		uri := fmt.Sprintf("http://127.0.0.1:%d", port)
		n := &server{dir: t.TempDir(), args: []string{"--uri", uri}}
		if first == "" {
			first = uri
		} else {
			n.args = append(n.args, "--bootstrap", first)
		}
		env := []string{"QDRANT__CLUSTER__ENABLED=true", fmt.Sprintf("QDRANT__CLUSTER__P2P__PORT=%d", port)}
		if err := n.place(ctx, env...); err != nil {
			t.Fatal(err)
		}
		defer n.stop()
		s := open(t, Options{URL: "http://" + n.address, Collection: "c", Replicas: 2, Shards: 2, Term: 20 * time.Second, Keep: time.Nanosecond})
		defer closeStore(t, s)
		nodes, stores, envs = append(nodes, n), append(stores, s), append(envs, env)
	}
	for revision := range 3 {
		if err := publishRevision(ctx, stores[revision], revision, func(string) {}); err != nil {
			t.Fatal(err)
		}
	}
	w, err := stores[0].Begin(ctx, docseek.Source{Name: "docs"}, "model", true)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Check(ctx, testURL(1), search.PageCheck{CheckedAt: time.Now()}); err != nil {
		t.Fatal(err)
	}
	if err := w.Finish(ctx, search.Run{Outcome: search.Unchanged}); err != nil {
		t.Fatal(err)
	}
	const killed = 0
	nodes[killed].stop()
	for _, s := range stores[killed+1:] {
		for shown := 0; shown != 2; { // a reader's state may be a second old
			var err error
			if shown, err = revisionShown(ctx, mustReader(t, s)); err != nil {
				t.Fatalf("a node is down: %v", err)
			}
		}
	}
	if err := nodes[killed].start(ctx, envs[killed]...); err != nil {
		t.Fatal(err)
	}
	if err := publishRevision(ctx, stores[1], 4, func(string) {}); err != nil {
		t.Fatal(err)
	}
	if shown, err := revisionShown(ctx, mustReader(t, stores[1])); err != nil || shown != 4 {
		t.Errorf("revision %d is shown: %v", shown, err)
	}
}
