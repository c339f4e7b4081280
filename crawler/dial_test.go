package crawler

import (
	"net/netip"
	"testing"
)

func TestIsPublic(t *testing.T) {
	for addr, want := range map[string]bool{
		"93.184.216.34": true, "8.8.8.8": true, "2606:2800:220:1:248:1893:25c8:1946": true, "64:ff9b::808:808": true,
		"127.0.0.1": false, "10.1.2.3": false, "172.31.0.1": false, "192.168.1.1": false, "169.254.169.254": false,
		"100.64.0.1": false, "0.0.0.0": false, "255.255.255.255": false, "224.0.0.1": false, "198.18.0.1": false,
		"192.0.2.1": false, "::1": false, "::": false, "fe80::1%eth0": false, "fd00::1": false, "fc00::1": false,
		"::ffff:127.0.0.1": false, "::ffff:8.8.8.8": true, "64:ff9b::7f00:1": false, "2002:7f00:1::1": false,
		"2001::1": false, "2001:db8::1": false, "ff02::1": false, "fec0::1": false, "fd00:ec2::254": false,
	} {
		if got := isPublic(netip.MustParseAddr(addr)); got != want {
			t.Errorf("%s: %v", addr, got)
		}
	}
}
