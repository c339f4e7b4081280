//go:build !amd64

package kernel

func available() []Kernel { return []Kernel{generic{}} }
