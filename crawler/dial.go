package crawler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"sync"
	"syscall"
	"time"

	"golang.org/x/net/http/httpproxy"
)

// errPrivateAddress means that a name or an address inside a network that is
// not public was about to be connected to.
var errPrivateAddress = errors.New("address is not public")

// network connects a crawl to hosts, and refuses addresses that are not public
// unless they are the source's own.
type network struct {
	resolver *net.Resolver
	proxy    func(*url.URL) (*url.URL, error)
	direct   *http.Transport
	proxied  *http.Transport

	mu sync.Mutex
	// own are the host:port pairs that may be private: those of the start, by
	// name and by address.
	own map[string]bool
}

func newNetwork(resolver *net.Resolver) *network {
	n := &network{
		resolver: resolver,
		proxy:    httpproxy.FromEnvironment().ProxyFunc(),
		own:      map[string]bool{},
	}
	open := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second, Resolver: resolver}
	guarded := *open
	// The address is checked when it has been resolved and is about to be
	// connected to, so that a name cannot change its mind between the two.
	guarded.Control = func(_, address string, _ syscall.RawConn) error {
		if n.isOwn(address) {
			return nil
		}
		return checkAddress(address)
	}
	n.direct = newTransport(func(ctx context.Context, netw, address string) (net.Conn, error) {
		if n.isOwn(address) {
			return open.DialContext(ctx, netw, address)
		}
		return guarded.DialContext(ctx, netw, address)
	})
	// The proxy resolves and connects; it may well stand in a private network.
	n.proxied = newTransport(open.DialContext)
	n.proxied.Proxy = func(r *http.Request) (*url.URL, error) { return n.proxy(r.URL) }
	return n
}

func newTransport(dial func(context.Context, string, string) (net.Conn, error)) *http.Transport {
	return &http.Transport{
		DialContext:            dial,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true, // decoded by us, with a bound
		MaxIdleConnsPerHost:    16,
		IdleConnTimeout:        60 * time.Second,
		TLSHandshakeTimeout:    10 * time.Second,
		MaxResponseHeaderBytes: 256 << 10,
	}
}

func (n *network) close() {
	n.direct.CloseIdleConnections()
	n.proxied.CloseIdleConnections()
}

// RoundTrip sends a request directly or through the proxy that the environment names.
func (n *network) RoundTrip(r *http.Request) (*http.Response, error) {
	proxy, err := n.proxy(r.URL)
	if err != nil {
		return nil, fmt.Errorf("choose a proxy for %s: %w", r.URL.Host, err)
	}
	if proxy == nil {
		return n.direct.RoundTrip(r)
	}
	if err := n.checkProxied(r.Context(), r.URL); err != nil {
		return nil, err
	}
	return n.proxied.RoundTrip(r)
}

// checkProxied refuses what this machine knows to be private. A name that only
// the proxy can resolve is left to it.
func (n *network) checkProxied(ctx context.Context, u *url.URL) error {
	if n.isOwn(hostPort(u)) {
		return nil
	}
	addrs, err := n.resolver.LookupNetIP(ctx, "ip", u.Hostname())
	if err != nil {
		return nil //nolint:nilerr // the proxy resolves what this machine cannot
	}
	for _, a := range addrs {
		if !isPublic(a) && !n.isOwn(net.JoinHostPort(a.Unmap().String(), portOf(u))) {
			return fmt.Errorf("connect to %s: %w", u.Host, errPrivateAddress)
		}
	}
	return nil
}

// trust lets the start's own host be private, if it is: under its name, and
// under other names of the same address, since it may lead to one of them. The
// schemes' default ports go together for the same reason.
func (n *network) trust(ctx context.Context, start *url.URL) {
	addrs, err := n.resolver.LookupNetIP(ctx, "ip", start.Hostname())
	if err != nil {
		return
	}
	ports := []string{start.Port()}
	if start.Port() == "" {
		ports = []string{"80", "443"}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, a := range addrs {
		if isPublic(a) {
			continue
		}
		for _, port := range ports {
			n.own[net.JoinHostPort(start.Hostname(), port)] = true
			n.own[net.JoinHostPort(a.Unmap().String(), port)] = true
		}
	}
}

func (n *network) isOwn(address string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.own[address]
}

func hostPort(u *url.URL) string { return net.JoinHostPort(u.Hostname(), portOf(u)) }

func portOf(u *url.URL) string {
	return cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
}

func checkAddress(address string) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("connect to %s: %w", address, err)
	}
	if !isPublic(ap.Addr()) {
		return fmt.Errorf("connect to %s: %w", ap.Addr(), errPrivateAddress)
	}
	return nil
}

// isPublic reports whether an address is globally reachable by the IANA
// special-purpose registries (RFC 6890). Addresses that carry an IPv4 address
// inside (mapped, NAT64, 6to4) are judged by that one.
func isPublic(a netip.Addr) bool {
	a = a.WithZone("").Unmap()
	if a.Is6() {
		b := a.As16()
		switch {
		case netip.MustParsePrefix("64:ff9b::/96").Contains(a):
			return isPublic(netip.AddrFrom4([4]byte(b[12:16])))
		case netip.MustParsePrefix("2002::/16").Contains(a):
			return isPublic(netip.AddrFrom4([4]byte(b[2:6])))
		}
		return netip.MustParsePrefix("2000::/3").Contains(a) &&
			!netip.MustParsePrefix("2001::/23").Contains(a) &&
			!netip.MustParsePrefix("2001:db8::/32").Contains(a) &&
			!netip.MustParsePrefix("3fff::/20").Contains(a)
	}
	for _, p := range []string{
		"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
		"192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15",
		"198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
	} {
		if netip.MustParsePrefix(p).Contains(a) {
			return false
		}
	}
	return true
}
