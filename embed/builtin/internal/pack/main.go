// Command pack makes the model file of package builtin from the original
// weights of all-MiniLM-L6-v2, whose sum it checks.
//
//	pack -from DIR -to FILE
//
// DIR holds model.safetensors and vocab.txt as they are published under
// sentence-transformers/all-MiniLM-L6-v2. The same weights give the same bytes.
package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/docseek/docseek/embed/encoder"
)

// The files that the model is packed from.
const (
	tensorsFile    = "model.safetensors"
	tensorsSum     = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
	vocabularyFile = "vocab.txt"
	vocabularySum  = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
)

func main() {
	if err := run(os.Args[1:], os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1) //nolint:forbidigo // this is a main
	}
}

func run(args []string, stderr io.Writer) error {
	flags := flag.NewFlagSet("pack", flag.ContinueOnError)
	flags.SetOutput(stderr)
	from := flags.String("from", "", "folder of the original; without it nothing is done")
	to := flags.String("to", "", "model file to write")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *from == "" {
		_, err := fmt.Fprintln(stderr, "pack: no folder of the original is given; the model file stays as it is")
		return err
	}
	if *to == "" {
		return errors.New("no file to write is given: set -to")
	}
	var file bytes.Buffer
	if err := pack(&file, *from); err != nil {
		return err
	}
	return os.WriteFile(*to, file.Bytes(), 0o644) //nolint:gosec // the model file is part of the sources
}

// pack writes the model file of the original in a folder.
func pack(dst io.Writer, folder string) error {
	tensors, err := read(folder, tensorsFile, tensorsSum)
	if err != nil {
		return err
	}
	vocabulary, err := read(folder, vocabularyFile, vocabularySum)
	if err != nil {
		return err
	}
	return encoder.Pack(dst, encoder.Original{
		Config: encoder.Config{
			Name:    "all-MiniLM-L6-v2",
			Pieces:  30_522,
			Hidden:  384,
			Inner:   1536,
			Layers:  6,
			Heads:   12,
			Limit:   256,
			Epsilon: 1e-12,
		},
		Tensors:    tensors,
		Vocabulary: vocabulary,
		Sum:        tensorsSum,
	})
}

// read reads a file and checks its SHA-256.
func read(folder, name, want string) ([]byte, error) {
	data, err := os.ReadFile(filepath.Join(folder, name)) //nolint:gosec // the folder is the caller's to name
	if err != nil {
		return nil, fmt.Errorf("read original: %w", err)
	}
	sum := sha256.Sum256(data)
	if got := hex.EncodeToString(sum[:]); got != want {
		return nil, fmt.Errorf("read original: %s has the sum %s, not %s: take the published file", name, got, want)
	}
	return data, nil
}
