package middleware

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// Guard turns away requests that a web page could have made a browser send to
// a server that the page itself cannot reach (DNS rebinding; MCP 2026-07-28,
// "Streamable HTTP", security).
type Guard struct {
	// Hosts are the names that the server is reached under, without port.
	// Loopback names are always right on a loopback connection. On other
	// connections every name is right while the list is empty.
	Hosts []string
	// Public is the host of the address that clients are told, if there is one: it
	// is right on every connection, since a proxy on this machine passes it on.
	Public string
	// Origins are the web origins ("https://app.example.com") whose pages may
	// call the server. An origin on one of Hosts or on Public, or a loopback origin on a
	// loopback connection, may call it too.
	Origins []string
	// Probes are paths that are asked under any host name on connections from
	// elsewhere: an orchestrator's probes use the address of the machine.
	Probes []string
}

// Wrap answers 403 to a request whose Host or Origin is not allowed, and
// passes on the others. Programs send no Origin; browsers always do.
func (g Guard) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		local := onLoopback(r)
		if !g.hostAllowed(r.Host, local) && (local || !slices.Contains(g.Probes, r.URL.Path)) {
			http.Error(w, "forbidden: this server is not reached under the host name of the request; "+
				"an operator can add it to server.allowed_hosts", http.StatusForbidden)
			return
		}
		for _, origin := range r.Header.Values("Origin") {
			if !g.originAllowed(origin, local) {
				http.Error(w, "forbidden: pages of this origin may not call the server; "+
					"an operator can add it to server.allowed_origins", http.StatusForbidden)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

func (g Guard) hostAllowed(hostport string, local bool) bool {
	host := hostOf(hostport)
	if local && isLoopback(host) {
		return true
	}
	if !local && len(g.Hosts) == 0 {
		return true
	}
	return g.listed(host)
}

func (g Guard) originAllowed(origin string, local bool) bool {
	if slices.ContainsFunc(g.Origins, func(o string) bool { return strings.EqualFold(o, origin) }) {
		return true
	}
	u, err := url.Parse(origin)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return false
	}
	host := hostOf(u.Host)
	return local && isLoopback(host) || g.listed(host)
}

func (g Guard) listed(host string) bool {
	if g.Public != "" && strings.EqualFold(host, g.Public) {
		return true
	}
	return slices.ContainsFunc(g.Hosts, func(h string) bool { return strings.EqualFold(h, host) })
}

// onLoopback reports whether the request came in over a loopback address. A
// request of which that is not known counts as one: the stricter rule.
func onLoopback(r *http.Request) bool {
	addr, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	return !ok || isLoopback(hostOf(addr.String()))
}

// hostOf is the host of "host", "host:port", "[v6]" or "[v6]:port".
func hostOf(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	return strings.TrimSuffix(strings.TrimPrefix(hostport, "["), "]")
}

// isLoopback reports whether a host names this machine whatever a resolver
// says (RFC 6761 §6.3 for localhost).
func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}
