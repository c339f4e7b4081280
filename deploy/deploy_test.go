// Package deploy_test holds the files of this folder to the configuration, the
// metrics and the flags that docseek really has. What only the programs that read
// the files can tell is checked by scripts/check-deploy.sh.
package deploy_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/docseek/docseek/internal/config"
	"github.com/docseek/docseek/internal/obs"
)

func read(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.FromSlash(name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// documents reads all YAML documents of a file, strictly.
func documents(t *testing.T, name string) []map[string]any {
	t.Helper()
	d := yaml.NewDecoder(bytes.NewReader(read(t, name)), yaml.DisallowUnknownField())
	var all []map[string]any
	for {
		var document map[string]any
		switch err := d.Decode(&document); {
		case errors.Is(err, io.EOF):
			return all
		case err != nil:
			t.Fatalf("%s: %v", name, err)
		}
		all = append(all, document)
	}
}

// at is the value at a path of keys and indices.
func at(t *testing.T, value any, path ...any) any {
	t.Helper()
	for i, step := range path {
		switch key := step.(type) {
		case string:
			object, ok := value.(map[string]any)
			if !ok || object[key] == nil {
				t.Fatalf("there is no %v", path[:i+1])
			}
			value = object[key]
		case int:
			list, ok := value.([]any)
			if !ok || len(list) <= key {
				t.Fatalf("there is no %v", path[:i+1])
			}
			value = list[key]
		}
	}
	return value
}

func words(t *testing.T, value any) []string {
	t.Helper()
	list, ok := value.([]any)
	if !ok {
		t.Fatalf("%v is no list", value)
	}
	var all []string
	for _, v := range list {
		word, ok := v.(string)
		if !ok {
			t.Fatalf("%v is no text", v)
		}
		all = append(all, word)
	}
	return all
}

func loads(t *testing.T, text string, environ ...string) config.Config {
	t.Helper()
	file := filepath.Join(t.TempDir(), "docseek.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(file, environ)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// docseek builds the program once and checks a command line without running it.
func docseek(t *testing.T) func(args ...string) {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "docseek")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "github.com/docseek/docseek/cmd/docseek")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return func(args ...string) {
		t.Helper()
		out, err := exec.CommandContext(context.Background(), binary, append(slices.Clone(args), "--help")...).CombinedOutput()
		if err != nil || !strings.Contains(string(out), "Usage:\n  docseek "+command(args)) {
			t.Errorf("docseek %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

// command is the command of a command line: the first word that is no flag and
// no flag's value.
func command(args []string) string {
	for i := 0; i < len(args); i++ {
		if !strings.HasPrefix(args[i], "-") {
			return args[i]
		}
		if slices.Contains([]string{"--config", "--data-dir", "--log-format", "--log-level"}, args[i]) {
			i++
		}
	}
	return ""
}

func TestCommandLines(t *testing.T) {
	accepts := docseek(t)

	dockerfile := string(read(t, "Dockerfile"))
	for _, found := range regexp.MustCompile(`CMD (\[.*\])`).FindAllStringSubmatch(dockerfile, -1) {
		var args []string
		if err := json.Unmarshal([]byte(found[1]), &args); err != nil {
			t.Fatal(err)
		}
		if args[0] == "/usr/local/bin/docseek" {
			args = args[1:]
		}
		accepts(args...)
	}

	for _, unit := range []string{"systemd/docseek.service", "systemd/docseek-reindex.service"} {
		line := regexp.MustCompile(`(?m)^ExecStart=/usr/local/bin/docseek (.*)$`).FindSubmatch(read(t, unit))
		if line == nil {
			t.Fatalf("%s starts no docseek", unit)
		}
		accepts(strings.Fields(string(line[1]))...)
	}

	pod := []any{"spec", "template", "spec", "containers", 0, "args"}
	accepts(words(t, at(t, documents(t, "kubernetes/server.yaml")[0], pod...))...)
	accepts(words(t, at(t, documents(t, "kubernetes/scheduler.yaml")[0], pod...))...)
	accepts(words(t, at(t, documents(t, "kubernetes/cronjob.yaml")[0], append([]any{"spec", "jobTemplate"}, pod...)...))...)
}

func TestConfigurations(t *testing.T) {
	if !bytes.Equal(read(t, "config.example.yaml"), config.Example()) {
		t.Error("config.example.yaml is not what docseek config init writes: docseek config init - > deploy/config.example.yaml")
	}

	compose := documents(t, "compose.yaml")[0]
	text, _ := at(t, compose, "configs", "docseek", "content").(string)
	c := loads(t, strings.ReplaceAll(text, "$$", "$"), "DOCS_URL=https://docs.example.com/sitemap.xml")
	if c.Store.Kind != config.Qdrant || c.Store.URL != "http://qdrant:6334" || c.Sources[0].Start != "https://docs.example.com/sitemap.xml" {
		t.Errorf("the configuration of compose.yaml: %+v", c)
	}
	if ports := words(t, at(t, compose, "services", "docseek", "ports")); !slices.Equal(ports, []string{"127.0.0.1:8080:8080"}) {
		t.Errorf("a server without access control is published on %v", ports)
	}

	text, _ = at(t, documents(t, "kubernetes/config.yaml")[0], "data", "docseek.yaml").(string)
	c = loads(t, text, "QDRANT_API_KEY=key")
	if c.Store.Replicas != 2 || !c.Server.Auth.On() || c.Server.Metrics.Listen == "" || c.Server.Insecure {
		t.Errorf("the configuration of Kubernetes: %+v", c)
	}
}

// TestPodsAreLocked holds every pod to the restricted Pod Security Standard, as
// the namespace enforces it, and to a read-only root.
func TestPodsAreLocked(t *testing.T) {
	for file, path := range map[string][]any{
		"kubernetes/server.yaml":    {0, "spec", "template", "spec"},
		"kubernetes/scheduler.yaml": {0, "spec", "template", "spec"},
		"kubernetes/cronjob.yaml":   {0, "spec", "jobTemplate", "spec", "template", "spec"},
		"kubernetes/qdrant.yaml":    {2, "spec", "template", "spec"},
	} {
		n, _ := path[0].(int)
		pod := at(t, documents(t, file)[n], path[1:]...)
		if got := at(t, pod, "securityContext", "runAsNonRoot"); got != true {
			t.Errorf("%s: runAsNonRoot is %v", file, got)
		}
		if got := at(t, pod, "securityContext", "seccompProfile", "type"); got != "RuntimeDefault" {
			t.Errorf("%s: seccomp %v", file, got)
		}
		container := at(t, pod, "containers", 0)
		context, _ := at(t, container, "securityContext").(map[string]any)
		if context["allowPrivilegeEscalation"] != false || context["readOnlyRootFilesystem"] != true ||
			!slices.Equal(words(t, at(t, context, "capabilities", "drop")), []string{"ALL"}) {
			t.Errorf("%s: %v", file, context)
		}
		if image, _ := at(t, container, "image").(string); !regexp.MustCompile(`:v?\d+\.\d+\.\d+`).MatchString(image) {
			t.Errorf("%s: the image %s is not pinned", file, image)
		}
	}
}

// TestMetricNames holds rules and dashboard to the metrics that there are.
func TestMetricNames(t *testing.T) {
	m := obs.NewMetrics("test")
	m.Call("t", "ok", 0)
	m.Answer("hybrid", false, 1)
	m.Request(200)
	m.Fetch(200)
	m.Run(obs.Run{Source: "s", Outcome: "published", Pages: map[string]int{"new": 1}})
	m.Upstream("e", http.DefaultTransport)
	m.Index(func(context.Context) ([]obs.Source, error) {
		return []obs.Source{{Name: "s", State: "ready"}}, nil
	})
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	// Of vectors without a value and of ages there is no line yet.
	have := w.Body.String() + " docseek_upstream_requests_total docseek_last_success_age_seconds "
	for _, file := range []string{"prometheus/rules.yaml", "grafana/dashboard.json"} {
		names := regexp.MustCompile(`docseek_[a-z_]+`).FindAllString(string(read(t, file)), -1)
		if len(names) < 5 {
			t.Fatalf("%s names %v", file, names)
		}
		for _, name := range names {
			if !strings.Contains(have, name) {
				t.Errorf("%s names %s, which is no metric", file, name)
			}
		}
	}
}

func TestDashboard(t *testing.T) {
	var d struct {
		Title  string
		Panels []struct {
			ID      int
			Title   string
			GridPos struct{ H, W, X, Y int }
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(read(t, "grafana/dashboard.json"), &d); err != nil {
		t.Fatal(err)
	}
	ids := map[int]bool{}
	for _, p := range d.Panels {
		if ids[p.ID] || p.Title == "" || len(p.Targets) == 0 || p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("panel %+v", p)
		}
		ids[p.ID] = true
	}
	if len(d.Panels) < 10 {
		t.Errorf("%d panels", len(d.Panels))
	}
}

func TestRegistryEntry(t *testing.T) {
	var entry struct {
		Name, Description, Version string
		Packages                   []struct {
			RegistryType, Identifier string
			Transport                struct{ Type string }
			PackageArguments         []struct{ Type, Name, Value string }
		}
	}
	if err := json.Unmarshal(read(t, "server.json"), &entry); err != nil {
		t.Fatal(err)
	}
	// The registry's schema bounds the description to 100 characters.
	if n := len(entry.Description); n == 0 || n > 100 {
		t.Errorf("the description has %d characters", n)
	}
	if !regexp.MustCompile(`^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$`).MatchString(entry.Name) {
		t.Errorf("name %q", entry.Name)
	}
	for _, p := range entry.Packages {
		if !strings.HasSuffix(p.Identifier, ":"+entry.Version) {
			t.Errorf("%s is not of version %s", p.Identifier, entry.Version)
		}
	}
}
