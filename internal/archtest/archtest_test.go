package archtest

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/docseek/docseek"

// arrows says which rooms a room may import, besides the root's nouns and the
// rooms below itself. "*" is any room. A room that is not listed fails the test.
var arrows = map[string][]string{
	"":                     {},
	"cmd/docseek":          {"*"},
	"crawler":              {"crawler/sitemap", "crawler/extract"},
	"crawler/sitemap":      {},
	"crawler/extract":      {},
	"chunker":              {},
	"embed":                {},
	"embed/encoder":        {},
	"embed/builtin":        {"embed", "embed/encoder"},
	"embed/model":          {"embed", "embed/encoder"},
	"embed/openai":         {"embed"},
	"search":               {"search/lexical"},
	"search/lexical":       {},
	"search/local":         {"search", "search/lexical"},
	"search/qdrant":        {"search", "search/lexical"},
	"search/storetest":     {"search", "search/lexical"},
	"graphql":              {},
	"graphql/execute":      {"graphql"},
	"graphql/schemasearch": {"graphql"},
	"graphql/operations":   {"graphql", "graphql/execute"},
	"graphql/gateway":      {"graphql", "graphql/execute", "graphql/operations", "graphql/schemasearch"},
	"server": {
		"search", "graphql", "graphql/execute", "graphql/gateway", "graphql/operations", "graphql/schemasearch", "internal/obs",
		"server/auth", "server/middleware", "server/web",
	},
	"server/auth":       {},
	"server/middleware": {"server/auth", "internal/obs"},
	"server/web":        {"search", "search/lexical"},
	"search/rerank":     {},
	"internal/indexer":  {"crawler", "chunker", "embed", "search", "search/lexical"},
	"internal/schedule": {},
	"internal/config":   {},
	"internal/eval":     {"*"},
	"internal/demo":     {"*"},
	"internal/doctor":   {"*"},
	"internal/obs":      {},
	"internal/demo/api": {},
	"internal/fakesite": {},
	"internal/archtest": {},
	"deploy":            {},
	"scripts":           {"*"},
}

// importers names the one room that may import a large library, or the few that
// speak its language.
var importers = map[string][]string{
	"github.com/gocolly/colly":        {"crawler"},
	"github.com/PuerkitoBio/goquery":  {"crawler/extract"},
	"github.com/sashabaranov/go-open": {"embed/openai"},
	"github.com/qdrant/go-client":     {"search/qdrant"},
	"github.com/mark3labs/mcp-go":     {"server"},
	"github.com/robfig/cron":          {"internal/schedule"},
	"modernc.org/sqlite":              {"search/local"},
	"github.com/goccy/go-yaml":        {"graphql/operations", "internal/config", "server/auth"},
	"github.com/vektah/gqlparser":     {"graphql", "graphql/execute", "graphql/operations", "graphql/schemasearch", "internal/demo/api"},
	"github.com/theory/jsonpath":      {"graphql/operations"},
	"github.com/coreos/go-oidc":       {"server/auth"},
	"github.com/prometheus/client_go": {"internal/obs"},
	"github.com/chromedp/chromedp":    {"crawler/render"},
	"github.com/fsnotify/fsnotify":    {"cmd/docseek"},
	"github.com/spf13/cobra":          {"cmd/docseek"},
}

type goPackage struct {
	ImportPath string
	Imports    []string
}

func packages(t *testing.T) []goPackage {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports", module+"/...").Output()
	if err != nil {
		if failed, ok := errors.AsType[*exec.ExitError](err); ok {
			t.Fatalf("go list: %v\n%s", err, failed.Stderr)
		}
		t.Fatal(err)
	}
	var all []goPackage
	d := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p goPackage
		switch err := d.Decode(&p); {
		case errors.Is(err, io.EOF):
			return all
		case err != nil:
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

// room is the listed folder that a package belongs to: itself, or for a package
// under an internal folder of a room, that room.
func room(path string) string {
	name := strings.TrimPrefix(strings.TrimPrefix(path, module), "/")
	if strings.HasPrefix(name, "scripts/") {
		return "scripts"
	}
	name, _, _ = strings.Cut(name, "/internal/")
	return name
}

func TestArrows(t *testing.T) {
	for _, p := range packages(t) {
		from := room(p.ImportPath)
		allowed, listed := arrows[from]
		if !listed {
			t.Errorf("%s: the room is not on the map: add it to arrows and to docs/architecture.md", p.ImportPath)
			continue
		}
		for _, imp := range p.Imports {
			if imp != module && !strings.HasPrefix(imp, module+"/") {
				continue
			}
			to := room(imp)
			if to == "" || to == from || slices.Contains(allowed, "*") || slices.Contains(allowed, to) {
				continue
			}
			t.Errorf("%s imports %s: %s may import only %v", p.ImportPath, imp, from, allowed)
		}
	}
}

func TestOneImporter(t *testing.T) {
	for _, p := range packages(t) {
		for _, imp := range p.Imports {
			for library, owners := range importers {
				if strings.HasPrefix(imp, library) && !slices.Contains(owners, room(p.ImportPath)) {
					t.Errorf("%s imports %s: only %v may", p.ImportPath, imp, owners)
				}
			}
		}
	}
}
