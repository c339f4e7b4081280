package gateway_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/docseek/docseek/graphql/execute"
	"github.com/docseek/docseek/graphql/gateway"
	"github.com/docseek/docseek/internal/demo/api"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// bank serves the demo's API.
func bank(t *testing.T) string {
	t.Helper()
	a, err := api.New()
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(a)
	t.Cleanup(web.Close)
	return web.URL
}

func open(t *testing.T, log *slog.Logger, configs ...gateway.Config) *gateway.Gateway {
	t.Helper()
	g, err := gateway.New(configs, gateway.Options{Log: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.Close)
	return g
}

func refused(t *testing.T, err error, want string) {
	t.Helper()
	if e, ok := errors.AsType[*execute.Error](err); !ok || e.Kind != execute.Refused || !strings.Contains(e.Message, want) {
		t.Errorf("error %v, want a refusal with %q", err, want)
	}
}

// Every way in keeps to what the endpoint allows.
func TestPolicy(t *testing.T) {
	url := bank(t)
	ask := map[string]func(*gateway.Gateway) error{
		"search": func(g *gateway.Gateway) error {
			_, err := g.SearchSchema(t.Context(), gateway.SearchQuery{Terms: []string{"iban"}})
			return err
		},
		"inspect": func(g *gateway.Gateway) error {
			_, err := g.InspectType(t.Context(), gateway.InspectQuery{Names: []string{"Account"}})
			return err
		},
		"validate": func(g *gateway.Gateway) error {
			_, err := g.Validate(t.Context(), gateway.ValidateQuery{Document: "{ accounts { id } }"})
			return err
		},
		"execute": func(g *gateway.Gateway) error {
			_, err := g.Execute(t.Context(), gateway.ExecuteQuery{Document: "{ accounts { id } }"})
			return err
		},
		"mutate": func(g *gateway.Gateway) error {
			_, err := g.Execute(t.Context(), gateway.ExecuteQuery{Document: `mutation { cancelPayout(id: "x") { __typename } }`})
			return err
		},
		"query of a caller that may only read": func(g *gateway.Gateway) error {
			_, err := g.Execute(t.Context(), gateway.ExecuteQuery{Document: "{ accounts { id } }", ReadOnly: true})
			return err
		},
		"a change by it": func(g *gateway.Gateway) error {
			_, err := g.Execute(t.Context(), gateway.ExecuteQuery{
				Document: `query a { accounts { id } } mutation b { cancelPayout(id: "x") { __typename } }`, OperationName: "a", ReadOnly: true,
			})
			return err
		},
	}
	for _, test := range []struct {
		documents execute.Policy
		explore   bool
		allowed   string
	}{
		{"", false, ""},
		{execute.None, true, "search inspect validate"},
		{execute.Read, false, "validate execute query of a caller that may only read"},
		{execute.Read, true, "search inspect validate execute query of a caller that may only read"},
		{execute.Write, false, "validate execute mutate query of a caller that may only read"},
		{execute.Write, true, "search inspect validate execute mutate query of a caller that may only read"},
	} {
		g := open(t, quiet(), gateway.Config{Name: "bank", URL: url, Documents: test.documents, Explore: test.explore})
		if err := g.Reload(t.Context()); err != nil {
			t.Fatal(err)
		}
		for name, call := range ask {
			err := call(g)
			if allowed := strings.Contains(test.allowed, name); allowed != (err == nil) {
				t.Errorf("documents %q, explore %t: %s gives %v", test.documents, test.explore, name, err)
			} else if !allowed {
				refused(t, err, "")
			}
		}
	}
}

func TestEndpointsByName(t *testing.T) {
	url := bank(t)
	g := open(t, quiet(),
		gateway.Config{Name: "a", URL: url, Documents: execute.Read, Explore: true},
		gateway.Config{Name: "b", URL: url, Documents: execute.Read, Explore: true},
	)
	if err := g.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err := g.Execute(t.Context(), gateway.ExecuteQuery{Document: "{ accounts { id } }"})
	refused(t, err, "name the endpoint: one of a, b")
	_, err = g.SearchSchema(t.Context(), gateway.SearchQuery{Terms: []string{"iban"}, Endpoint: "c"})
	refused(t, err, `there is no endpoint "c" to search the schema on: use a, b`)
	if got, err := g.SearchSchema(t.Context(), gateway.SearchQuery{Terms: []string{"iban"}, Endpoint: "b"}); err != nil || got.Endpoint != "b" || len(got.Paths) == 0 {
		t.Errorf("answer %+v, error %v", got, err)
	}
	none := open(t, quiet())
	_, err = none.Execute(t.Context(), gateway.ExecuteQuery{Document: "{ a }"})
	refused(t, err, "no GraphQL endpoint is configured")
}

func TestFaultyConfigurations(t *testing.T) {
	for _, c := range []gateway.Config{
		{Name: "a", URL: "ftp://a.example"},
		{Name: "a", URL: "https://u:s3cret@a.example"},
		{Name: "a", URL: "https://a.example", Documents: "all"},
	} {
		_, err := gateway.New([]gateway.Config{c}, gateway.Options{Log: quiet()})
		if err == nil || !strings.Contains(err.Error(), "endpoint a") || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if _, err := gateway.New(nil, gateway.Options{}); err == nil {
		t.Error("a gateway without a log")
	}
}

// A schema from a file needs no endpoint, and its faults keep the one before.
func TestSchemaFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "schema.graphql")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("type Query { iban: String }")
	g := open(t, quiet(), gateway.Config{Name: "a", URL: "http://127.0.0.1:1/", SchemaFile: file, Documents: execute.Read, Explore: true})
	if err := g.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	valid := func(document string) bool {
		t.Helper()
		got, err := g.Validate(t.Context(), gateway.ValidateQuery{Document: document})
		if err != nil {
			t.Fatal(err)
		}
		return got.Valid
	}
	if !valid("{ iban }") || valid("{ bic }") {
		t.Error("the schema is not that of the file")
	}
	write("type Query { bic: String }")
	if err := g.Reload(t.Context()); err != nil || valid("{ iban }") || !valid("{ bic }") {
		t.Errorf("the schema is not that of the changed file: %v", err)
	}
	found, err := g.SearchSchema(t.Context(), gateway.SearchQuery{Terms: []string{"bic", "iban"}})
	if err != nil || len(found.Paths) != 1 || found.Paths[0].Path != "Query.bic" {
		t.Errorf("the index is not of the changed file: %+v %v", found, err)
	}
	write("type Query {")
	if err := g.Reload(t.Context()); err == nil || !valid("{ bic }") {
		t.Errorf("a broken file took the schema away: %v", err)
	}
}

// What the endpoint itself finds wrong with a document, since its schema has
// moved on, is answered with what we know of the types it names; what has
// nothing to do with the schema is not.
func TestErrorsOfTheEndpoint(t *testing.T) {
	var answer atomic.Value
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, answer.Load().(string))
	}))
	defer web.Close()
	file := filepath.Join(t.TempDir(), "schema.graphql")
	if err := os.WriteFile(file, []byte("type Query { account: Account } type Account { iban: String bic: String }"), 0o600); err != nil {
		t.Fatal(err)
	}
	g := open(t, quiet(), gateway.Config{Name: "a", URL: web.URL, SchemaFile: file, Documents: execute.Read, Explore: true})
	if err := g.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	for body, want := range map[string]string{
		`{"errors":[{"message":"Cannot query field \"iban\" on type \"Account\"."}]}`:                          "type Account {\n  iban: String\n  bic: String\n}\n",
		`{"errors":[{"message":"the database is down"}]}`:                                                      "",
		`{"data":{"account":{"iban":null}},"errors":[{"message":"\"Account\" is locked","path":["account"]}]}`: "",
	} {
		answer.Store(body)
		got, err := g.Execute(t.Context(), gateway.ExecuteQuery{Document: "{ account { iban } }"})
		if err != nil || !got.Failed() || got.SDL != want {
			t.Errorf("%s: SDL %q, error %v", body, got.SDL, err)
		}
	}
}

// A call that comes while the schema is loaded for the first time waits for it.
func TestWaitsForTheFirstSchema(t *testing.T) {
	demo, err := api.New()
	if err != nil {
		t.Fatal(err)
	}
	asked, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		once.Do(func() {
			close(asked)
			<-release
		})
		demo.ServeHTTP(w, r)
	}))
	defer web.Close()
	g := open(t, quiet(), gateway.Config{Name: "a", URL: web.URL, Documents: execute.Read, Explore: true})
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { g.Run(ctx) })
	<-asked
	answered := make(chan error, 1)
	go func() {
		got, err := g.Execute(ctx, gateway.ExecuteQuery{Document: "{ accounts { id } }"})
		if err == nil && got.Failed() {
			err = errors.New("the answer has errors")
		}
		answered <- err
	}()
	close(release)
	if err := <-answered; err != nil {
		t.Errorf("the call that waited: %v", err)
	}
	stop()
	running.Wait()
}

func TestDoesNotWaitForEver(t *testing.T) {
	g, err := gateway.New([]gateway.Config{{Name: "a", URL: "http://127.0.0.1:1/", Documents: execute.Read}},
		gateway.Options{Log: quiet(), Patience: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	_, err = g.Execute(t.Context(), gateway.ExecuteQuery{Document: "{ a }"})
	if e, ok := errors.AsType[*execute.Error](err); !ok || e.Kind != execute.Unreachable || !strings.Contains(e.Message, "is being loaded") {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := g.Execute(ctx, gateway.ExecuteQuery{Document: "{ a }"}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// Neither the log nor an answer tells a configured secret, whatever the
// endpoint does with it.
func TestSecretsStay(t *testing.T) {
	const secret, key = "tok_s3cret0123", "key_s3cret0123"
	demo, err := api.New()
	if err != nil {
		t.Fatal(err)
	}
	var state atomic.Int32
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		told := "no such token: " + r.Header.Get("Authorization") + " at " + r.URL.String()
		switch state.Load() {
		case 0:
			demo.ServeHTTP(w, r)
		case 1:
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, told)
		default:
			_, _ = io.WriteString(w, `{"data":{"accounts":[{"id":"2025-01-01"}]},"errors":[{"message":"`+told+`","extensions":{"why":"`+told+`"}}]}`)
		}
	}))
	defer web.Close()
	var log bytes.Buffer
	g := open(t, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})), gateway.Config{
		Name: "a", URL: web.URL + "/?api_key=" + key, Documents: execute.Read, Explore: true,
		Headers: http.Header{"Authorization": {"Bearer " + secret}, "Api-Version": {"2025-01-01"}},
	})
	if err := g.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	state.Store(1)
	_, err = g.Execute(t.Context(), gateway.ExecuteQuery{Document: "{ accounts { id } }"})
	if err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("error %v", err)
	}
	if g.Reload(t.Context()) == nil {
		t.Error("the schema was loaded")
	}
	state.Store(2)
	partial, failure := g.Execute(t.Context(), gateway.ExecuteQuery{Document: "{ accounts { id } }"})
	if failure != nil || !strings.Contains(string(partial.Data), "2025-01-01") {
		t.Errorf("answer %+v, error %v", partial, failure)
	}
	for what, text := range map[string]string{
		"the error": err.Error(), "the log": log.String(), "the answer": fmt.Sprint(partial.Errors), "its error": string(partial.Errors[0].Extensions),
	} {
		if strings.Contains(text, secret) || strings.Contains(text, key) {
			t.Errorf("%s tells a secret: %s", what, text)
		}
	}
	if !strings.Contains(partial.Errors[0].Message, "no such token: Bearer ***") {
		t.Errorf("message %q", partial.Errors[0].Message)
	}
}
