//go:build !linux

package local

import "errors"

// mapAnonymous is not supported: the heap is used.
func mapAnonymous(int) ([]byte, error) { return nil, errors.ErrUnsupported }

func unmap([]byte) {}
