//go:build !amd64 && !arm64

package kernel

func available() []Kernel { return []Kernel{generic{}} }
