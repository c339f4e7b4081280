package server

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/coreos/go-oidc/v3/oidc/oidctest"

	"github.com/docseek/docseek/server/auth"
)

// A client follows the challenge to the issuer, and calls with what it got there;
// an issuer that is away is no fault of the token.
func TestOAuthOnTheWire(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	var provider oidctest.Server
	provider.PublicKeys = []oidctest.PublicKey{{PublicKey: key.Public(), KeyID: "k", Algorithm: oidc.RS256}}
	issuer := httptest.NewServer(&provider)
	defer issuer.Close()
	provider.SetIssuer(issuer.URL)
	const public = "https://mcp.example.com"
	base := func() string {
		return protected(t, Options{PublicURL: public, Access: Access{
			Issuers: []string{issuer.URL},
			Verifiers: []auth.Verifier{auth.NewOAuth(auth.OAuthOptions{
				Issuer: issuer.URL, Audiences: []string{public, public + "/mcp"}, Now: time.Now, Log: discard(),
			})},
		}}, keyring{})
	}
	server := base()

	response, _ := exchange(t, "POST", server+"/mcp", map[string]string{"Content-Type": "application/json"}, listToolsMessage)
	_, named, _ := strings.Cut(response.Header.Get("WWW-Authenticate"), `resource_metadata="`+public)
	path, _, _ := strings.Cut(named, `"`)
	_, body := exchange(t, "GET", server+path, nil, "")
	var metadata struct {
		Resource string   `json:"resource"`
		Servers  []string `json:"authorization_servers"`
		Scopes   []string `json:"scopes_supported"`
	}
	if err := json.Unmarshal([]byte(body), &metadata); err != nil || len(metadata.Servers) != 1 || metadata.Servers[0] != issuer.URL {
		t.Fatalf("metadata at %q: %s, %v", path, body, err)
	}
	token := func(audience, scope string) string {
		claims, err := json.Marshal(map[string]any{
			"iss": metadata.Servers[0], "aud": audience, "sub": "user-7", "scope": scope, "exp": time.Now().Add(time.Hour).Unix(),
		})
		if err != nil {
			t.Fatal(err)
		}
		return oidctest.SignIDToken(key, "k", oidc.RS256, string(claims))
	}
	const search = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_docs","arguments":{"query":"limits"}}}`
	for name, test := range map[string]struct {
		token     string
		status    int
		challenge string
	}{
		"as told":          {token(metadata.Resource, strings.Join(metadata.Scopes, " ")), http.StatusOK, ""},
		"another audience": {token("https://other.example.com", "docs:read"), http.StatusUnauthorized, `error="invalid_token"`},
		"another scope":    {token(metadata.Resource, "openid profile"), http.StatusForbidden, `error="insufficient_scope", scope="docs:read"`},
	} {
		response, body := exchange(t, "POST", server+"/mcp", bearer(test.token), search)
		if response.StatusCode != test.status || !strings.Contains(response.Header.Get("WWW-Authenticate"), test.challenge) {
			t.Errorf("%s: %d, challenge %s: %s", name, response.StatusCode, response.Header.Get("WWW-Authenticate"), body)
		}
	}

	good := token(metadata.Resource, "docs:read")
	fresh := base()
	issuer.Close()
	if response, body := exchange(t, "POST", server+"/mcp", bearer(good), search); response.StatusCode != http.StatusOK {
		t.Errorf("with known keys and the issuer away: %d %s", response.StatusCode, body)
	}
	if response, body := exchange(t, "POST", fresh+"/mcp", bearer(good), search); response.StatusCode != http.StatusServiceUnavailable ||
		response.Header.Get("WWW-Authenticate") != "" || response.Header.Get("Retry-After") == "" {
		t.Errorf("without keys and the issuer away: %d %v %s", response.StatusCode, response.Header, body)
	}
}
