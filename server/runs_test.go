package server

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/docseek/docseek/server/auth"
)

// verifier knows callers by their tokens.
type verifier map[string]auth.Caller

func (v verifier) Verify(_ context.Context, token string) (auth.Caller, error) {
	caller, ok := v[token]
	if !ok {
		return auth.Caller{}, auth.ErrUnknown
	}
	return caller, nil
}

// started are runs that a test asked for.
type started struct {
	names []string
	asked [][]string
}

func (s *started) Sources() []string      { return s.names }
func (s *started) Start(sources []string) { s.asked = append(s.asked, sources) }

func TestRunHook(t *testing.T) {
	runs := &started{names: []string{"docs", "other"}}
	s, err := New(Options{Docs: &library{}, Log: discard(), Runs: runs, Access: Access{Verifiers: []auth.Verifier{verifier{
		"all":    {Name: "all", Scopes: []string{auth.RunsWrite}},
		"one":    {Name: "one", Scopes: []string{auth.RunsWrite}, Sources: []string{"other"}},
		"reader": {Name: "reader", Scopes: auth.ReadScopes()},
	}}}})
	if err != nil {
		t.Fatal(err)
	}
	base := serve(t, s)
	for _, test := range []struct {
		token, body string
		status      int
		says        string
		starts      []string
	}{
		{"", "", 401, "a token is needed", nil},
		{"reader", "", 403, "runs:write", nil},
		{"all", "", 202, `"accepted":["docs","other"]`, []string{"docs", "other"}},
		{"all", `{"sources":["docs"]}`, 202, `"accepted":["docs"]`, []string{"docs"}},
		{"all", `{"sources":["none"]}`, 404, "docs, other", nil},
		{"one", "", 202, `"accepted":["other"]`, []string{"other"}},
		{"one", `{"sources":["docs"]}`, 404, "of that name to run: other", nil},
		{"all", `{"source":"docs"}`, 400, `{\"sources\":[\"NAME\"]}`, nil},
		{"all", strings.Repeat(" ", 100_000), 400, "body", nil},
	} {
		runs.asked = nil
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/runs", strings.NewReader(test.body))
		if err != nil {
			t.Fatal(err)
		}
		if test.token != "" {
			r.Header.Set("Authorization", "Bearer "+test.token)
		}
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil || response.StatusCode != test.status || !strings.Contains(string(body), test.says) {
			t.Errorf("%s %.40s: %d %s %v", test.token, test.body, response.StatusCode, body, err)
		}
		if got := slices.Concat(runs.asked...); !slices.Equal(got, test.starts) {
			t.Errorf("%s %.40s: started %v, want %v", test.token, test.body, got, test.starts)
		}
	}
}
