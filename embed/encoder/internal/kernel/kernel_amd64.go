package kernel

func available() []Kernel { return []Kernel{generic{}} }
