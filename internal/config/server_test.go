package config_test

import (
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/docseek/docseek/internal/config"
)

func TestServer(t *testing.T) {
	c, err := config.Parse("f.yaml", []byte(`
server:
  listen: 0.0.0.0:8080
  public_url: https://mcp.example.com
  auth:
    tokens_file: tokens.yaml
    oauth: {issuer: "https://login.example.com", audience: "api://docs", scopes: ["docs:read"]}
  rate_limit: {per_minute: 600}
  concurrency: {queue: -1}
  trusted_proxies: [10.0.0.0/8, "::ffff:192.0.2.1", 2001:db8::/32]
  connector_tools: true
  metrics: {listen: "127.0.0.1:9090"}
  run_hook: true
`), []string{"DOCSEEK_SERVER_RATE_LIMIT_BURST=7", "DOCSEEK_SERVER_AUTH_OAUTH_AUDIENCE=other"})
	if err != nil {
		t.Fatal(err)
	}
	got := c.Server.WithDefaults()
	want := config.Server{
		Listen: "0.0.0.0:8080", PublicURL: "https://mcp.example.com",
		Auth: config.Auth{TokensFile: "tokens.yaml", OAuth: config.OAuth{
			Issuer: "https://login.example.com", Audience: "other", Scopes: []string{"docs:read"},
		}},
		RateLimit: config.RateLimit{PerMinute: 600, Burst: 7}, Concurrency: config.Concurrency{Calls: 64, Queue: -1},
		TrustedProxies: []string{"10.0.0.0/8", "::ffff:192.0.2.1", "2001:db8::/32"},
		ConnectorTools: true, Metrics: config.Metrics{Listen: "127.0.0.1:9090"}, RunHook: true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("server (-want +got):\n%s", diff)
	}
	ranges := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("192.0.2.1/32"), netip.MustParsePrefix("2001:db8::/32")}
	if diff := cmp.Diff(ranges, got.Proxies(), cmpopts.EquateComparable(netip.Prefix{})); diff != "" {
		t.Errorf("proxies (-want +got):\n%s", diff)
	}
}

func TestServerFaults(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"public":                {`listen: "0.0.0.0:80"`, "server.listen: 0.0.0.0:80 can be reached by others and nothing checks who asks"},
		"all addresses":         {`listen: ":80"`, "server.listen: :80 can be reached"},
		"public IPv6":           {`listen: "[::]:80"`, "server.listen: [::]:80 can be reached"},
		"a name":                {`listen: "example.com:80"`, "server.listen: example.com:80 can be reached"},
		"public, insecure":      {`{listen: "0.0.0.0:80", insecure: true}`, ""},
		"public with tokens":    {`{listen: "0.0.0.0:80", auth: {tokens_file: t.yaml}}`, ""},
		"loopback":              {`listen: "[::1]:80"`, ""},
		"oauth":                 {`{public_url: "https://m.example", auth: {oauth: {issuer: "https://i.example"}}}`, ""},
		"oauth, no address":     {`auth: {oauth: {issuer: "https://i.example"}}`, "server.public_url: is missing"},
		"oauth, no issuer":      {`auth: {oauth: {audience: x}}`, "server.auth.oauth.issuer: is missing"},
		"issuer without TLS":    {`{public_url: "https://m.example", auth: {oauth: {issuer: "http://i.example"}}}`, "server.auth.oauth.issuer: must be an https URL"},
		"issuer on loopback":    {`{public_url: "https://m.example", auth: {oauth: {issuer: "http://127.0.0.1:9"}}}`, ""},
		"scope":                 {`{public_url: "https://m.example", auth: {oauth: {issuer: "https://i.example", scopes: ["a b"]}}}`, `server.auth.oauth.scopes: "a b" is no scope`},
		"rate":                  {`rate_limit: {per_minute: -2}`, "server.rate_limit.per_minute: must be -1 to 1000000 (got -2)"},
		"burst":                 {`rate_limit: {burst: -1}`, "server.rate_limit.burst: must be 0 to 1000000 (got -1)"},
		"calls":                 {`concurrency: {calls: 2000000}`, "server.concurrency.calls: must be 0 to 1000000"},
		"proxies":               {`trusted_proxies: [nginx]`, `server.trusted_proxies: must be addresses or CIDR ranges such as 10.0.0.0/8 (got "nginx")`},
		"metrics":               {`metrics: {listen: nowhere}`, "server.metrics.listen: must be host:port"},
		"metrics on the server": {`{listen: "127.0.0.1:80", metrics: {listen: "127.0.0.1:80"}}`, "server.metrics.listen: must be another address"},
	} {
		text := test.text
		if !strings.HasPrefix(text, "{") {
			text = "{" + text + "}"
		}
		_, err := config.Parse("f.yaml", []byte("server: "+text), nil)
		got := faultsOf(t, err)
		if test.want == "" && len(got) > 0 || test.want != "" && !slices.ContainsFunc(got, func(f string) bool { return strings.Contains(f, test.want) }) {
			t.Errorf("%s: faults %q, want %q", name, got, test.want)
		}
	}
}

func TestTokensFileIsRelativeToTheConfiguration(t *testing.T) {
	path := filepath.Join(t.TempDir(), "docseek.yaml")
	if err := os.WriteFile(path, []byte("server: {auth: {tokens_file: tokens.yaml}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(filepath.Dir(path), "tokens.yaml"); c.Server.Auth.TokensFile != want {
		t.Errorf("the tokens file is %s, want %s", c.Server.Auth.TokensFile, want)
	}
}
