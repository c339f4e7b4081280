package config

import (
	"cmp"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// Server says where the server listens, whom it answers, and how much.
type Server struct {
	// Listen is host:port.
	Listen string `yaml:"listen" env:"LISTEN"`
	// PublicURL is the address that clients reach the server under, without /mcp;
	// empty means the address of the request.
	PublicURL string `yaml:"public_url,omitempty" env:"PUBLIC_URL"`
	// Insecure allows an address that others can reach although nothing checks
	// who asks.
	Insecure bool `yaml:"insecure,omitempty" env:"INSECURE"`
	// Auth says who may ask; without it everybody may who can reach the server.
	Auth Auth `yaml:"auth,omitempty" envPrefix:"AUTH_"`
	// RateLimit bounds what one caller may ask.
	RateLimit RateLimit `yaml:"rate_limit,omitempty" envPrefix:"RATE_LIMIT_"`
	// Concurrency bounds what all callers together may ask at once.
	Concurrency Concurrency `yaml:"concurrency,omitempty" envPrefix:"CONCURRENCY_"`
	// AllowedHosts and AllowedOrigins are let in besides the loopback ones.
	AllowedHosts   []string `yaml:"allowed_hosts,omitempty" env:"ALLOWED_HOSTS"`
	AllowedOrigins []string `yaml:"allowed_origins,omitempty" env:"ALLOWED_ORIGINS"`
	// TrustedProxies are the addresses and CIDR ranges of proxies whose word
	// counts on who the caller is.
	TrustedProxies []string `yaml:"trusted_proxies,omitempty" env:"TRUSTED_PROXIES"`
	// ConnectorTools adds the tools search and fetch, as ChatGPT's connectors
	// want them.
	ConnectorTools bool `yaml:"connector_tools,omitempty" env:"CONNECTOR_TOOLS"`
	// Metrics says where the metrics are served.
	Metrics Metrics `yaml:"metrics,omitempty" envPrefix:"METRICS_"`
	// Traces says where traces are sent.
	Traces Traces `yaml:"traces,omitempty" envPrefix:"TRACES_"`
	// RunHook lets a caller with the scope runs:write start a run by POST /runs.
	RunHook bool `yaml:"run_hook,omitempty" env:"RUN_HOOK"`
}

// Auth says how callers show who they are. Both ways may be on at once.
type Auth struct {
	// TokensFile is the path of the file of accepted tokens' hashes.
	TokensFile string `yaml:"tokens_file,omitempty" env:"TOKENS_FILE"`
	// OAuth accepts the tokens of an authorization server.
	OAuth OAuth `yaml:"oauth,omitempty" envPrefix:"OAUTH_"`
}

// On reports whether callers have to show who they are.
func (a Auth) On() bool { return a.TokensFile != "" || a.OAuth.Issuer != "" }

// OAuth is the authorization server whose tokens are accepted.
type OAuth struct {
	// Issuer is its issuer URL, as its tokens and its metadata have it.
	Issuer string `yaml:"issuer,omitempty" env:"ISSUER"`
	// Audience is what tokens for this server are issued for; empty means its
	// public URL, with or without /mcp.
	Audience string `yaml:"audience,omitempty" env:"AUDIENCE"`
	// Scopes are those that clients are told to ask for; empty means those of
	// the tools that are on.
	Scopes []string `yaml:"scopes,omitempty" env:"SCOPES"`
}

// RateLimit is how many requests one caller may make. The caller is the token,
// or the address where there is none; programs on this machine that need no
// token are not limited.
type RateLimit struct {
	// PerMinute is the lasting rate; 0 means 60, and -1 no limit.
	PerMinute int `yaml:"per_minute,omitempty" env:"PER_MINUTE"`
	// Burst is how many may come at once; 0 means 20.
	Burst int `yaml:"burst,omitempty" env:"BURST"`
}

// Concurrency bounds the calls that are answered at once.
type Concurrency struct {
	// Calls are those at work; 0 means 64.
	Calls int `yaml:"calls,omitempty" env:"CALLS"`
	// Queue are those that wait for their turn; 0 means 128, and -1 none.
	Queue int `yaml:"queue,omitempty" env:"QUEUE"`
}

// Metrics says where the metrics are served.
type Metrics struct {
	// Listen is host:port, apart from the server's own; empty means nowhere.
	Listen string `yaml:"listen,omitempty" env:"LISTEN"`
}

// Traces says where OpenTelemetry traces are sent.
type Traces struct {
	// Endpoint takes OTLP over HTTP, such as http://localhost:4318/v1/traces;
	// empty means that nothing is traced.
	Endpoint string `yaml:"endpoint,omitempty" env:"ENDPOINT"`
	// Ratio is the part of the calls that are traced where the caller has not
	// decided it, from 0 to 1.
	Ratio float64 `yaml:"ratio,omitempty" env:"RATIO"`
}

// WithDefaults fills in what a file may leave out.
func (s Server) WithDefaults() Server {
	s.RateLimit.PerMinute = cmp.Or(s.RateLimit.PerMinute, 60)
	s.RateLimit.Burst = cmp.Or(s.RateLimit.Burst, 20)
	s.Concurrency.Calls = cmp.Or(s.Concurrency.Calls, 64)
	s.Concurrency.Queue = cmp.Or(s.Concurrency.Queue, 128)
	return s
}

// Proxies are the trusted proxies as ranges of addresses. What cannot be read
// is a fault of the configuration, and left out.
func (s Server) Proxies() []netip.Prefix {
	var ranges []netip.Prefix
	for _, text := range s.TrustedProxies {
		if p, ok := addressRange(text); ok {
			ranges = append(ranges, p)
		}
	}
	return ranges
}

// addressRange reads an address or a CIDR range.
func addressRange(text string) (netip.Prefix, bool) {
	if addr, err := netip.ParseAddr(text); err == nil && addr.Zone() == "" {
		addr = addr.Unmap()
		return netip.PrefixFrom(addr, addr.BitLen()), true
	}
	p, err := netip.ParsePrefix(text)
	return p.Masked(), err == nil
}

// most is the largest number that a bound may have.
const most = 1_000_000

func (v *validator) server(s Server) {
	host, _, err := net.SplitHostPort(s.Listen)
	switch {
	case err != nil:
		v.fault("server.listen", "must be host:port (got %q)", s.Listen)
	case !loopback(host) && !s.Insecure && !s.Auth.On():
		v.fault("server.listen", "%s can be reached by others and nothing checks who asks; listen on 127.0.0.1, set server.auth, "+
			"or write insecure: true if something in front of it does", s.Listen)
	}
	if s.RunHook && !loopback(host) && !s.Auth.On() {
		v.fault("server.run_hook", "needs server.auth on an address that others can reach: anybody could start runs")
	}
	if s.PublicURL != "" {
		v.webURL("server.public_url", s.PublicURL)
	}
	v.oauth(s)
	v.bound("server.rate_limit.per_minute", s.RateLimit.PerMinute, -1)
	v.bound("server.rate_limit.burst", s.RateLimit.Burst, 0)
	v.bound("server.concurrency.calls", s.Concurrency.Calls, 0)
	v.bound("server.concurrency.queue", s.Concurrency.Queue, -1)
	for _, text := range s.TrustedProxies {
		if _, ok := addressRange(text); !ok {
			v.fault("server.trusted_proxies", "must be addresses or CIDR ranges such as 10.0.0.0/8 (got %q)", text)
		}
	}
	if s.Traces.Endpoint != "" {
		v.webURL("server.traces.endpoint", s.Traces.Endpoint)
		v.noCredential("server.traces.endpoint", s.Traces.Endpoint)
	}
	if s.Traces.Ratio < 0 || s.Traces.Ratio > 1 {
		v.fault("server.traces.ratio", "must be between 0 and 1 (got %v)", s.Traces.Ratio)
	}
	if s.Metrics.Listen != "" {
		if _, _, err := net.SplitHostPort(s.Metrics.Listen); err != nil {
			v.fault("server.metrics.listen", "must be host:port (got %q)", s.Metrics.Listen)
		}
		if s.Metrics.Listen == s.Listen {
			v.fault("server.metrics.listen", "must be another address than server.listen: metrics are for the operator alone")
		}
	}
}

// scopeName is what a scope may be called (RFC 6749 §3.3).
func scopeName(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == '"' || r == '\\' || r > '~' })
}

func (v *validator) oauth(s Server) {
	o := s.Auth.OAuth
	if o.Issuer == "" {
		if o.Audience != "" || len(o.Scopes) > 0 {
			v.fault("server.auth.oauth.issuer", "is missing: the issuer URL of the authorization server")
		}
		return
	}
	v.webURL("server.auth.oauth.issuer", o.Issuer)
	if u, err := url.Parse(o.Issuer); err == nil && u.Scheme == "http" && !loopback(u.Hostname()) {
		v.fault("server.auth.oauth.issuer", "must be an https URL: its keys decide who may in (got %q)", shown(o.Issuer))
	}
	if s.PublicURL == "" {
		v.fault("server.public_url", "is missing: with oauth, clients are told the address that their tokens are for")
	}
	if i := slices.IndexFunc(o.Scopes, func(s string) bool { return !scopeName(s) }); i >= 0 {
		v.fault("server.auth.oauth.scopes", "%q is no scope", o.Scopes[i])
	}
}

// bound checks a number that may be left out; least is 0 or -1 ("none").
func (v *validator) bound(field string, n, least int) {
	if n < least || n > most {
		v.fault(field, "must be %d to %d (got %d)", least, most, n)
	}
}

func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
