package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const modelFile = "../../all-minilm-l6-v2.bin"

// TestPackingAgainGivesTheSameBytes is part of the run where DOCSEEK_TEST_MINILM
// names the folder of the original, which is too large for the sources.
func TestPackingAgainGivesTheSameBytes(t *testing.T) {
	folder := os.Getenv("DOCSEEK_TEST_MINILM")
	if folder == "" {
		return
	}
	want, err := os.ReadFile(modelFile)
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "model.bin")
	var stderr bytes.Buffer
	if err := run([]string{"-from", folder, "-to", to}, &stderr); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(to)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("packed %d bytes that differ from the %d of %s", len(got), len(want), modelFile)
	}
}

func TestRunRefusesAnotherOriginal(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, tensorsFile), []byte("other weights"), 0o600); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "model.bin")
	err := run([]string{"-from", folder, "-to", to}, &bytes.Buffer{})
	if err == nil || !strings.Contains(err.Error(), tensorsSum) {
		t.Errorf("got error %v, want one that names the sum", err)
	}
	if _, err := os.Stat(to); err == nil {
		t.Error("a file was written")
	}
}

func TestRunWithoutAnOriginalLeavesTheFile(t *testing.T) {
	to := filepath.Join(t.TempDir(), "model.bin")
	var stderr bytes.Buffer
	if err := run([]string{"-from", "", "-to", to}, &stderr); err != nil || stderr.Len() == 0 {
		t.Errorf("got error %v, message %q", err, &stderr)
	}
	if _, err := os.Stat(to); err == nil {
		t.Error("a file was written")
	}
	if err := run([]string{"-from", t.TempDir()}, &stderr); err == nil {
		t.Error("packed to nowhere")
	}
	if err := run([]string{"-from", t.TempDir(), "-to", to}, &stderr); err == nil {
		t.Error("packed an empty folder")
	}
}
