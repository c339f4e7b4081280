//go:build qdrant

package qdrant

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/search"
	"github.com/docseek/docseek/search/storetest"
)

// cluster is three nodes, each a process of the tests' own.
type cluster struct {
	nodes []*server
	envs  [][]string
}

func startCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{}
	first := ""
	for range 3 {
		port := freePort(t)
		uri := fmt.Sprintf("http://127.0.0.1:%d", port)
		n := &server{dir: t.TempDir(), args: []string{"--uri", uri}}
		if first == "" {
			first = uri
		} else {
			n.args = append(n.args, "--bootstrap", first)
		}
		env := []string{"QDRANT__CLUSTER__ENABLED=true", fmt.Sprintf("QDRANT__CLUSTER__P2P__PORT=%d", port)}
		if err := n.place(t.Context(), env...); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { n.stop() })
		c.nodes, c.envs = append(c.nodes, n), append(c.envs, env)
	}
	return c
}

// freePort is one of this machine that nothing listens on.
func freePort(t *testing.T) int {
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

// open opens an index through a node, with replicas of everything.
func (c *cluster) open(t *testing.T, node int, o Options) *Store {
	t.Helper()
	o.URL, o.Replicas, o.Shards, o.Keep = "http://"+c.nodes[node].address, 2, 2, time.Nanosecond
	s := open(t, o)
	t.Cleanup(func() { closeStore(t, s) })
	return s
}

// openAll opens an index through every node.
func (c *cluster) openAll(t *testing.T, o Options) []*Store {
	t.Helper()
	stores := make([]*Store, len(c.nodes))
	for i := range stores {
		stores[i] = c.open(t, i, o)
	}
	return stores
}

// contend opens an index many times over all nodes.
func (c *cluster) contend(t *testing.T) []*Store {
	t.Helper()
	o := Options{Collection: newPrefix(), Term: shortTerm, Patience: time.Second}
	return contend(t, func(i int) *Store { return c.open(t, i%len(c.nodes), o) })
}

// restart starts a node again, which is killed first if it is up.
func (c *cluster) restart(t *testing.T, node int) {
	t.Helper()
	c.nodes[node].stop()
	if err := c.nodes[node].start(t.Context(), c.envs[node]...); err != nil {
		t.Error(err)
	}
}

// leader is the node that strong writes go to: of the replicas of the collection
// that decides, the one with the highest id. It has one on every node.
func (c *cluster) leader(t *testing.T) int {
	t.Helper()
	leader, highest := -1, uint64(0)
	for i, n := range c.nodes {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d/cluster", n.http), nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		var answer struct {
			Result struct {
				PeerID uint64 `json:"peer_id"`
			} `json:"result"`
		}
		err = json.NewDecoder(response.Body).Decode(&answer)
		if err := errors.Join(err, response.Body.Close()); err != nil {
			t.Fatal(err)
		}
		if id := answer.Result.PeerID; id > highest {
			leader, highest = i, id
		}
	}
	return leader
}

// TestCluster kills nodes of a cluster, one at a time, and starts them again.
func TestCluster(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	leader := c.leader(t)
	t.Run("reindex, the leader down", func(t *testing.T) { testNodeDies(t, c, leader, true) })
	t.Run("reindex, another node down", func(t *testing.T) { testNodeDies(t, c, (leader+1)%3, false) })
	t.Run("reindex, the leader restarted", func(t *testing.T) { testNodeRestarts(t, c, leader) })
	t.Run("lease", func(t *testing.T) {
		testLeaseContenders(t, c.contend(t), func() { c.restart(t, leader) })
	})
	t.Run("state", func(t *testing.T) {
		testStateContenders(t, c.contend(t), func() { c.restart(t, (leader+1)%3) })
	})
}

// testNodeDies publishes revision after revision while a node is killed in the
// middle of a run, stays down for another, and is started again. Searches through
// the nodes that are up go on throughout. Only the node that leads strong writes is
// needed by runs: without it they fail, and harm nothing. In the end no chunk is
// missing on any node.
func testNodeDies(t *testing.T, c *cluster, killed int, needed bool) {
	t.Helper()
	ctx := t.Context()
	o := Options{Collection: newPrefix(), Term: 9 * time.Second, Patience: 2 * time.Second}
	stores := c.openAll(t, o)
	up := []*Store{stores[(killed+1)%3], stores[(killed+2)%3]}
	revision := 0
	publish := func(say func(step string)) error {
		err := publishRevision(ctx, up[0], revision+1, say)
		if err == nil {
			revision++
		}
		return err
	}
	quietly := func(string) {}
	for range 2 {
		if err := publish(quietly); err != nil {
			t.Fatal(err)
		}
	}
	// What a node that starts again reads in its log is of every kind.
	w, err := up[0].Begin(ctx, docseek.Source{Name: "docs"}, "model", true)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Check(ctx, storetest.SiteURL(1), search.PageCheck{CheckedAt: time.Now()}); err != nil {
		t.Fatal(err)
	}
	if err := w.Finish(ctx, search.Run{Outcome: search.Unchanged}); err != nil {
		t.Fatal(err)
	}
	stop := searchOn(t, up...)
	defer stop()
	puts := 0
	midway := publish(func(step string) {
		if step != "put" {
			return
		}
		if puts++; puts == 2 {
			c.nodes[killed].stop()
		}
	})
	down := publish(quietly)
	if failed := midway != nil && down != nil; failed != needed || needed != (midway != nil) {
		t.Errorf("killed midway: %v; down: %v", midway, down)
	}
	anyReplica := o
	for consistency, want := range map[ReadConsistency]bool{AnyReplica: true, AllReplicas: false} {
		o.ReadConsistency = consistency
		r, err := c.open(t, (killed+1)%3, o).Reader(ctx)
		if err == nil {
			_, err = storetest.RevisionShown(ctx, r)
		}
		if (err == nil) != want {
			t.Errorf("reading %s with a node down: %v", consistency, err)
		}
	}
	c.restart(t, killed)
	for range 2 {
		if err := publish(quietly); err != nil {
			t.Fatalf("the node is up again: %v", err)
		}
	}
	stop()
	for node := range stores {
		if shown, err := storetest.RevisionShown(ctx, mustReader(t, c.open(t, node, anyReplica))); err != nil || shown != revision {
			t.Errorf("node %d: revision %d is shown, want %d: %v", node, shown, revision, err)
		}
	}
	checkPoints(t, up[0], "docs")
}

// testNodeRestarts kills a node in the middle of a run that waits for it.
func testNodeRestarts(t *testing.T, c *cluster, killed int) {
	t.Helper()
	ctx := t.Context()
	stores := c.openAll(t, Options{Collection: newPrefix(), Term: time.Minute})
	writer := stores[(killed+1)%3]
	if err := publishRevision(ctx, writer, 0, func(string) {}); err != nil {
		t.Fatal(err)
	}
	stop := searchOn(t, writer)
	puts, restarted := 0, make(chan struct{})
	if err := publishRevision(ctx, writer, 1, func(step string) {
		if step != "put" {
			return
		}
		if puts++; puts == 2 {
			c.nodes[killed].stop()
			go func() {
				defer close(restarted)
				c.restart(t, killed)
			}()
		}
	}); err != nil {
		t.Error(err)
	}
	<-restarted
	stop()
	if shown, err := storetest.RevisionShown(ctx, mustReader(t, stores[killed])); err != nil || shown != 1 {
		t.Errorf("revision %d is shown: %v", shown, err)
	}
}

// searchOn searches through stores until the function that it returns is called:
// every answer is of one revision, whole, and of none before the last one's.
func searchOn(t *testing.T, stores ...*Store) (stop func()) {
	t.Helper()
	var done atomic.Bool
	var searchers sync.WaitGroup
	for i, s := range stores {
		searchers.Go(func() {
			for n, last := 0, 0; !done.Load() || n == 0; n++ {
				r, err := s.Reader(t.Context())
				if err != nil {
					t.Errorf("store %d: %v", i, err)
					return
				}
				shown, err := storetest.RevisionShown(t.Context(), r)
				if errors.Is(err, search.ErrStale) { // runs here keep nothing for earlier readers
					continue
				}
				if err != nil {
					t.Errorf("store %d, search %d: %v", i, n, err)
					return
				}
				if shown < last {
					t.Errorf("store %d: revision %d after %d", i, shown, last)
				}
				last = shown
				if err := pause(t.Context(), 20*time.Millisecond); err != nil {
					return
				}
			}
		})
	}
	return func() {
		done.Store(true)
		searchers.Wait()
	}
}
