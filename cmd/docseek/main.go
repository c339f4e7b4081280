// Docseek lets coding agents search a team's documentation over MCP.
package main

import "os"

func main() {
	os.Exit(run(os.Args[1:], streams{in: os.Stdin, out: os.Stdout, err: os.Stderr}, os.Environ())) //nolint:forbidigo // this is main
}
