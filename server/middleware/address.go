package middleware

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Proxies are the ranges of addresses whose word counts on where a request came
// from.
type Proxies []netip.Prefix

func (p Proxies) trusted(addr netip.Addr) bool {
	return slices.ContainsFunc(p, func(r netip.Prefix) bool { return r.Contains(addr) })
}

// Client is the address that a request came from: that of the connection or,
// where a trusted proxy made it, the rightmost one that the proxies tell and
// that is no trusted proxy itself. What stands further left anybody may have
// written. X-Forwarded-For counts before Forwarded (RFC 7239): a proxy that
// writes the one may pass on the other as the client sent it. The address is
// not valid where the connection's is not known.
func (p Proxies) Client(r *http.Request) netip.Addr {
	connection, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	client := connection.Addr().Unmap()
	if !p.trusted(client) {
		return client
	}
	for _, hop := range slices.Backward(hops(r.Header)) {
		addr, ok := hopAddress(hop)
		if !ok {
			break // an obfuscated or broken hop: nothing left of it is known
		}
		client = addr
		if !p.trusted(client) {
			break
		}
	}
	return client
}

// HTTPS reports whether the client came by https, to the server itself or to a
// trusted proxy before it.
func (p Proxies) HTTPS(r *http.Request) bool {
	if r.TLS != nil {
		return true
	}
	connection, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && p.trusted(connection.Addr().Unmap()) && strings.EqualFold(lastOf(r.Header.Values("X-Forwarded-Proto")), "https")
}

func lastOf(values []string) string {
	all := strings.Split(strings.Join(values, ","), ",")
	return strings.TrimSpace(all[len(all)-1])
}

// hops are the addresses that proxies tell, the nearest last.
func hops(h http.Header) []string {
	if values := h.Values("X-Forwarded-For"); len(values) > 0 {
		return strings.Split(strings.Join(values, ","), ",")
	}
	var all []string
	for element := range strings.SplitSeq(strings.Join(h.Values("Forwarded"), ","), ",") {
		hop := ""
		for pair := range strings.SplitSeq(element, ";") {
			if name, value, ok := strings.Cut(strings.TrimSpace(pair), "="); ok && strings.EqualFold(name, "for") {
				hop = strings.Trim(value, `"`)
			}
		}
		all = append(all, hop)
	}
	return all
}

// hopAddress reads an address with or without port, brackets and blanks.
func hopAddress(hop string) (netip.Addr, bool) {
	hop = strings.TrimSpace(hop)
	if with, err := netip.ParseAddrPort(hop); err == nil {
		return with.Addr().Unmap().WithZone(""), true
	}
	addr, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(hop, "["), "]"))
	return addr.Unmap().WithZone(""), err == nil
}
