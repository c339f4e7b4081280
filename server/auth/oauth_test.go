package auth_test

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/coreos/go-oidc/v3/oidc/oidctest"
	"github.com/google/go-cmp/cmp"

	"github.com/docseek/docseek/server/auth"
)

const audience = "https://mcp.example.com"

// issuer is an authorization server with keys of its own.
type issuer struct {
	*httptest.Server
	oidc oidctest.Server
	// broken answers in the issuer's place, where it is set.
	broken atomic.Pointer[http.HandlerFunc]
	asked  atomic.Int64
	clock  *clock
}

type key struct {
	id, algorithm string
	private       crypto.Signer
}

func newRSAKey(t *testing.T, id string) key {
	t.Helper()
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return key{id, oidc.RS256, private}
}

func newECKey(t *testing.T, id string) key {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key{id, oidc.ES256, private}
}

func newIssuer(t *testing.T, keys ...key) *issuer {
	t.Helper()
	i := &issuer{clock: newClock()}
	i.publish(keys...)
	i.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i.asked.Add(1)
		if broken := i.broken.Load(); broken != nil {
			(*broken)(w, r)
			return
		}
		i.oidc.ServeHTTP(w, r)
	}))
	t.Cleanup(i.Close)
	i.oidc.SetIssuer(i.URL)
	return i
}

// publish sets the keys that the issuer names.
func (i *issuer) publish(keys ...key) {
	public := make([]oidctest.PublicKey, len(keys))
	for n, k := range keys {
		public[n] = oidctest.PublicKey{PublicKey: k.private.Public(), KeyID: k.id, Algorithm: k.algorithm}
	}
	i.oidc.PublicKeys = public
}

func (i *issuer) verifier(log io.Writer) *auth.OAuth {
	return auth.NewOAuth(auth.OAuthOptions{
		Issuer: i.URL, Audiences: []string{audience, audience + "/mcp"}, Now: i.clock.now,
		Log: slog.New(slog.NewTextHandler(log, nil)),
	})
}

// token is an access token with the usual claims and the given ones over them;
// a claim that is nil is left out.
func (i *issuer) token(t *testing.T, k key, changed map[string]any) string {
	t.Helper()
	claims := map[string]any{
		"iss": i.URL, "aud": audience, "sub": "user-7", "client_id": "agent", "scope": "docs:read graphql:read",
		"iat": i.clock.Unix(), "exp": i.clock.Add(time.Hour).Unix(),
	}
	maps.Copy(claims, changed)
	maps.DeleteFunc(claims, func(_ string, v any) bool { return v == nil })
	text, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	return oidctest.SignIDToken(k.private, k.id, k.algorithm, string(text))
}

func TestAccessTokens(t *testing.T) {
	rsaKey, ecKey, foreign := newRSAKey(t, "r"), newECKey(t, "e"), newRSAKey(t, "r")
	i := newIssuer(t, rsaKey, ecKey)
	o := i.verifier(io.Discard)
	at := func(d time.Duration) int64 { return i.clock.Add(d).Unix() }
	read := []string{auth.DocsRead, auth.GraphQLRead}
	for name, test := range map[string]struct {
		key    key
		claims map[string]any
		want   auth.Caller
	}{
		"RSA":                  {rsaKey, nil, auth.Caller{Name: "oauth:user-7", Scopes: read}},
		"EC":                   {ecKey, nil, auth.Caller{Name: "oauth:user-7", Scopes: read}},
		"audience with path":   {rsaKey, map[string]any{"aud": audience + "/mcp"}, auth.Caller{Name: "oauth:user-7", Scopes: read}},
		"several audiences":    {rsaKey, map[string]any{"aud": []string{"other", audience}}, auth.Caller{Name: "oauth:user-7", Scopes: read}},
		"scp as a list":        {rsaKey, map[string]any{"scope": nil, "scp": []string{"docs:read"}}, auth.Caller{Name: "oauth:user-7", Scopes: read[:1]}},
		"scp as a line":        {rsaKey, map[string]any{"scope": nil, "scp": "docs:read"}, auth.Caller{Name: "oauth:user-7", Scopes: read[:1]}},
		"no scope":             {rsaKey, map[string]any{"scope": nil}, auth.Caller{Name: "oauth:user-7"}},
		"a client for itself":  {rsaKey, map[string]any{"sub": nil}, auth.Caller{Name: "oauth:agent", Scopes: read}},
		"expired a moment ago": {rsaKey, map[string]any{"exp": at(-30 * time.Second)}, auth.Caller{Name: "oauth:user-7", Scopes: read}},
		"a clock ahead":        {rsaKey, map[string]any{"nbf": at(30 * time.Second)}, auth.Caller{Name: "oauth:user-7", Scopes: read}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := o.Verify(t.Context(), i.token(t, test.key, test.claims))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("caller (-want +got):\n%s", diff)
			}
		})
	}

	good := i.token(t, rsaKey, nil)
	parts := strings.Split(good, ".")
	encode := base64.RawURLEncoding.EncodeToString
	for name, token := range map[string]string{
		"another key of the same name": i.token(t, foreign, nil),
		"unknown key":                  i.token(t, newRSAKey(t, "x"), nil),
		"another issuer":               i.token(t, rsaKey, map[string]any{"iss": "https://login.example.org"}),
		"another audience":             i.token(t, rsaKey, map[string]any{"aud": "https://other.example.com"}),
		"no audience":                  i.token(t, rsaKey, map[string]any{"aud": nil}),
		"audience with slash":          i.token(t, rsaKey, map[string]any{"aud": audience + "/"}),
		"expired":                      i.token(t, rsaKey, map[string]any{"exp": at(-2 * time.Minute)}),
		"no expiry":                    i.token(t, rsaKey, map[string]any{"exp": nil}),
		"not yet":                      i.token(t, rsaKey, map[string]any{"nbf": at(2 * time.Minute)}),
		"claims changed":               parts[0] + "." + encode([]byte(`{"iss":"x"}`)) + "." + parts[2],
		"no signature":                 parts[0] + "." + parts[1] + ".",
		"algorithm none":               encode([]byte(`{"alg":"none"}`)) + "." + parts[1] + ".",
		"shared secret":                encode([]byte(`{"alg":"HS256","kid":"r"}`)) + "." + parts[1] + "." + parts[2],
		"two parts":                    parts[0] + "." + parts[1],
		"text":                         "a.b.c",
		"scope of numbers":             i.token(t, rsaKey, map[string]any{"scope": 7}),
	} {
		t.Run("refused: "+name, func(t *testing.T) {
			if c, err := o.Verify(t.Context(), token); !errors.Is(err, auth.ErrUnknown) || errors.Is(err, auth.ErrUnavailable) {
				t.Errorf("caller %+v, error %v", c, err)
			}
		})
	}
}

// A subject that is called like a token of the file is another caller.
func TestSubjectsAreNoTokenNames(t *testing.T) {
	if auth.NewEntry("oauth:user-7", auth.NewToken()).Check() == nil {
		t.Error("a token can be named like a subject")
	}
}

// A new key is found when a token names it; made-up ones do not make the server
// ask each time; one that was taken back is not accepted for long.
func TestKeysRotate(t *testing.T) {
	first, second := newRSAKey(t, "first"), newECKey(t, "second")
	i := newIssuer(t, first)
	o := i.verifier(io.Discard)
	accepts := func(k key, want bool) {
		t.Helper()
		if _, err := o.Verify(t.Context(), i.token(t, k, nil)); (err == nil) != want {
			t.Errorf("a token by key %s: %v", k.id, err)
		}
	}
	accepts(first, true)
	if n := i.asked.Load(); n != 2 {
		t.Errorf("the issuer was asked %d times for metadata and keys", n)
	}
	made := newRSAKey(t, "made-up")
	for range 20 {
		accepts(made, false)
	}
	if n := i.asked.Load(); n != 2 {
		t.Errorf("made-up keys asked the issuer %d times", n-2)
	}
	i.publish(first, second)
	accepts(second, false)
	i.clock.forward(5 * time.Second)
	accepts(second, true)

	i.publish(second)
	accepts(first, true)
	i.clock.forward(time.Hour)
	accepts(second, true)
	accepts(first, false)
}

// What the issuer does not answer is no fault of the token; keys that are known
// go on being used.
func TestIssuerDoesNotAnswer(t *testing.T) {
	k := newRSAKey(t, "k")
	for name, handler := range map[string]http.HandlerFunc{
		"error":     func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) },
		"not JSON":  func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") },
		"too large": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(bytes.Repeat([]byte(" "), 2<<20)) },
		"broken":    func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"elsewhere": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/other", http.StatusFound) },
		"other name": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"issuer":"https://login.example.org","jwks_uri":"https://login.example.org/keys"}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			i := newIssuer(t, k)
			var log bytes.Buffer
			o := i.verifier(&log)
			i.broken.Store(&handler)
			token := i.token(t, k, nil)
			for range 3 {
				if _, err := o.Verify(t.Context(), token); !errors.Is(err, auth.ErrUnavailable) {
					t.Fatalf("without an issuer: %v", err)
				}
			}
			if n := strings.Count(log.String(), "the issuer of tokens does not answer"); n != 1 || strings.Contains(log.String(), token) {
				t.Errorf("the log says it %d times:\n%s", n, &log)
			}
			if n := i.asked.Load(); n != 1 {
				t.Errorf("the issuer was asked %d times within a moment", n)
			}

			i.broken.Store(nil)
			i.clock.forward(5 * time.Second)
			if _, err := o.Verify(t.Context(), token); err != nil {
				t.Fatalf("with the issuer back: %v", err)
			}
			i.broken.Store(&handler)
			i.clock.forward(time.Hour - time.Minute)
			fresh := i.token(t, k, nil)
			i.clock.forward(time.Minute)
			if _, err := o.Verify(t.Context(), fresh); err != nil {
				t.Errorf("with known keys: %v", err)
			}
		})
	}
}

// A request to the issuer has an end, and one that came to it counts as an
// answer for a while.
func TestIssuerThatHangs(t *testing.T) {
	k := newRSAKey(t, "k")
	i := newIssuer(t, k)
	asked := 0
	o := auth.NewOAuth(auth.OAuthOptions{
		Issuer: i.URL, Audiences: []string{audience}, Now: i.clock.now, Log: slog.New(slog.DiscardHandler),
		Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			asked++
			if _, bounded := r.Context().Deadline(); !bounded {
				t.Error("a request to the issuer may take for ever")
			}
			return nil, context.DeadlineExceeded
		}),
	})
	for range 3 {
		if _, err := o.Verify(t.Context(), i.token(t, k, nil)); !errors.Is(err, auth.ErrUnavailable) {
			t.Errorf("an issuer that hangs: %v", err)
		}
	}
	if asked != 1 {
		t.Errorf("it was asked %d times", asked)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
