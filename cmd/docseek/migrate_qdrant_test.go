//go:build qdrant

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/docseek/docseek/internal/fakesite"
	"github.com/docseek/docseek/search"
)

// TestQdrantMigration moves an index to a server with the real command. The next
// run there, on a machine without anything on its disk, asks for every page by what
// the site said of it before, and embeds nothing.
func TestQdrantMigration(t *testing.T) {
	address := os.Getenv("DOCSEEK_TEST_QDRANT")
	if address == "" {
		t.Fatal("no Qdrant server: run scripts/qdrant.sh VERSION go test …, or set DOCSEEK_TEST_QDRANT=host:port")
	}
	const pages = 6
	site := fakesite.Start(t, "-- /x --\n")
	var list strings.Builder
	for i := range pages {
		path := fmt.Sprintf("/p%d.html", i)
		list.WriteString("<url><loc>" + path + "</loc></url>")
		if err := site.Set(path, fmt.Sprintf("<main><h1>Page %d</h1><p>How money is moved in case %d.</p></main>", i, i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := site.Set("/sitemap.xml", "<urlset>"+list.String()+"</urlset>"); err != nil {
		t.Fatal(err)
	}
	onDisk := []string{"DOCSEEK_DATA_DIR=" + t.TempDir(), "NO_PROXY=127.0.0.1"}
	onServer := []string{
		"DOCSEEK_STORE_KIND=qdrant", "DOCSEEK_STORE_URL=http://" + address,
		fmt.Sprintf("DOCSEEK_STORE_COLLECTION=migrated%d", time.Now().UnixNano()),
		"DOCSEEK_STORE_SHARDS=2", "DOCSEEK_STORE_WRITE_CONSISTENCY=1", "DOCSEEK_STORE_READ_CONSISTENCY=quorum",
		"DOCSEEK_STORE_QUANTIZATION=scalar", "DOCSEEK_STORE_OVERSAMPLING=2.5", "DOCSEEK_STORE_ON_DISK=true",
	}
	docseek := func(env []string, args ...string) []byte {
		t.Helper()
		c := exec.CommandContext(t.Context(), "docseek", args...)
		c.Env = append(os.Environ(), env...)
		out, err := c.Output()
		if err != nil {
			t.Fatalf("docseek %q: %v\n%s", args, err, out)
		}
		return out
	}
	reindex := func(env []string) search.Run {
		t.Helper()
		var report struct {
			Runs []search.Run `json:"runs"`
		}
		if err := json.Unmarshal(docseek(env, "--json", "reindex", site.URL("/sitemap.xml")), &report); err != nil || len(report.Runs) != 1 {
			t.Fatalf("%+v, %v", report, err)
		}
		return report.Runs[0]
	}
	if r := reindex(onDisk); r.Outcome != search.Published || r.Pages.New != pages || r.Embedded == 0 {
		t.Fatalf("first run: %+v", r)
	}
	if r := reindex(onDisk); r.Outcome != search.Unchanged {
		t.Fatalf("second run: %+v", r)
	}
	docseek(slices.Concat(onDisk, onServer), "migrate", "--to", "qdrant")

	elsewhere := slices.Concat(onServer, []string{"DOCSEEK_DATA_DIR=" + t.TempDir(), "NO_PROXY=127.0.0.1"})
	site.Reset()
	if r := reindex(elsewhere); r.Outcome != search.Unchanged || r.Embedded != 0 || r.Pages != (search.PageCounts{Unchanged: pages}) {
		t.Errorf("first run on the server: %+v", r)
	}
	asked := 0
	for _, r := range site.Requests() {
		if !strings.HasPrefix(r.Path, "/p") {
			continue
		}
		asked++
		if r.Status != http.StatusNotModified {
			t.Errorf("%s was asked for with %v and answered %d", r.Path, r.Header, r.Status)
		}
	}
	if asked != pages {
		t.Errorf("%d pages were asked for", asked)
	}
	if err := site.Set("/p3.html", "<main><h1>Page 3</h1><p>Transfers to other banks take a day.</p></main>"); err != nil {
		t.Fatal(err)
	}
	if r := reindex(elsewhere); r.Outcome != search.Published || r.Embedded != 1 || r.Pages != (search.PageCounts{Changed: 1, Unchanged: pages - 1}) {
		t.Errorf("run after a change: %+v", r)
	}
	if out := docseek(elsewhere, "search", "transfers to other banks"); !strings.Contains(string(out), "/p3.html") {
		t.Errorf("the changed page is not found:\n%s", out)
	}
}
