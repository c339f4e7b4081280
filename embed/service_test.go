package embed_test

import (
	"testing"

	"github.com/docseek/docseek/embed"
)

func TestTextHashIsSHA256(t *testing.T) {
	// The digest of "abc" in FIPS 180-4.
	if got, want := embed.TextHash("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"; got != want {
		t.Errorf("TextHash = %s, want %s", got, want)
	}
}
