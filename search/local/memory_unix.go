//go:build unix

package local

import "golang.org/x/sys/unix"

// mapAnonymous returns zeroed pages that are of no file.
func mapAnonymous(bytes int) ([]byte, error) {
	return unix.Mmap(-1, 0, bytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
}

func unmap(pages []byte) {
	// It fails for nothing but pages that were never mapped.
	_ = unix.Munmap(pages)
}
