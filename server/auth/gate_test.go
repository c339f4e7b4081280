package auth_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/docseek/docseek/server/auth"
)

// verdict answers every token alike.
type verdict struct {
	name string
	err  error
}

func (v verdict) Verify(context.Context, string) (auth.Caller, error) {
	return auth.Caller{Name: v.name}, v.err
}

// With several verifiers the one that knows the token counts; that one could not
// look weighs more than that another does not know it.
func TestSeveralVerifiers(t *testing.T) {
	unknown, away := verdict{err: auth.ErrUnknown}, verdict{err: auth.ErrUnavailable}
	for name, test := range map[string]struct {
		verifiers []auth.Verifier
		caller    string
		err       error
	}{
		"first knows":              {[]auth.Verifier{verdict{name: "a"}, verdict{name: "b"}}, "a", nil},
		"second knows":             {[]auth.Verifier{unknown, verdict{name: "b"}}, "b", nil},
		"first is away":            {[]auth.Verifier{away, verdict{name: "b"}}, "b", nil},
		"none knows":               {[]auth.Verifier{unknown, unknown}, "", auth.ErrUnknown},
		"one is away":              {[]auth.Verifier{away, unknown}, "", auth.ErrUnavailable},
		"the other is away":        {[]auth.Verifier{unknown, away}, "", auth.ErrUnavailable},
		"an error of another kind": {[]auth.Verifier{verdict{err: errors.New("broken")}}, "", nil},
	} {
		g := auth.NewGate(auth.Options{Verifiers: test.verifiers, Access: func(*http.Request) auth.Access { return auth.ByToken }, Log: slog.New(slog.DiscardHandler)})
		caller, err := g.Verify(t.Context(), "token")
		if caller.Name != test.caller || test.err != nil && !errors.Is(err, test.err) || test.caller == "" && err == nil {
			t.Errorf("%s: %q, %v", name, caller.Name, err)
		}
	}
}

// What stands behind the gate knows the caller, and not the token.
func TestGateKeepsTheToken(t *testing.T) {
	for _, on := range []bool{true, false} {
		options := auth.Options{Access: func(*http.Request) auth.Access { return auth.ByToken }, Log: slog.New(slog.DiscardHandler)}
		if on {
			options.Verifiers = []auth.Verifier{verdict{name: "ci"}}
		}
		g := auth.NewGate(options)
		var caller auth.Caller
		var header string
		h := g.Identify(g.Enforce(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			caller, header = auth.CallerFrom(r.Context()), r.Header.Get("Authorization")
		})))
		r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
		r.Header.Set("Authorization", "Bearer token")
		h.ServeHTTP(httptest.NewRecorder(), r)
		if on && (caller.Name != "ci" || caller.Anonymous || header != "") {
			t.Errorf("with tokens: %+v, header %q", caller, header)
		}
		if !on && (!caller.Anonymous || !caller.Has(auth.RunsWrite) || header != "Bearer token") {
			t.Errorf("without: %+v, header %q", caller, header)
		}
	}
}

// A route behind a gate that was not asked who calls stays closed.
func TestGateWithoutIdentify(t *testing.T) {
	g := auth.NewGate(auth.Options{
		Verifiers: []auth.Verifier{verdict{name: "ci"}}, Access: func(*http.Request) auth.Access { return auth.ByToken }, Log: slog.New(slog.DiscardHandler),
	})
	w := httptest.NewRecorder()
	g.Enforce(http.NotFoundHandler()).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	if w.Code != http.StatusUnauthorized || !strings.Contains(w.Body.String(), "a token is needed") {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
}

func TestCaller(t *testing.T) {
	var nobody auth.Caller
	for _, scope := range auth.Scopes() {
		if nobody.Has(scope) || auth.CallerFrom(t.Context()).Has(scope) {
			t.Errorf("nobody has %s", scope)
		}
		if !auth.Trusted("x").Has(scope) {
			t.Errorf("a trusted caller has not %s", scope)
		}
	}
	writer := auth.Caller{Scopes: []string{auth.GraphQLWrite}}
	if !writer.Has(auth.GraphQLRead) || writer.Has(auth.DocsRead) {
		t.Error("who may write to an API may read it, and nothing else")
	}
	narrow := auth.Caller{Sources: []string{"a"}, Endpoints: []string{}}
	if !narrow.MayUseSource("a") || narrow.MayUseSource("b") || narrow.MayUseEndpoint("a") || !nobody.MayUseSource("b") {
		t.Error("limits of a caller are not held")
	}
}
