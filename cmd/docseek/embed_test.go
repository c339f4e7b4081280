package main

import (
	"slices"
	"testing"
	"time"

	"github.com/docseek/docseek/embed/builtin"
)

func TestMeasure(t *testing.T) {
	model, err := builtin.New(builtin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := measure(t.Context(), model, 16, 2, time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if m.Kernel != model.Kernel() || m.Threads != 2 || m.Tokens != 16 || m.Texts <= 0 || m.Rate != 16*m.Texts {
		t.Errorf("got %+v", m)
	}
}

func TestThreadCounts(t *testing.T) {
	for most, want := range map[int][]int{1: {1}, 2: {1, 2}, 6: {1, 2, 4, 6}, 8: {1, 2, 4, 8}} {
		if got := threadCounts(most); !slices.Equal(got, want) {
			t.Errorf("%d: got %v, want %v", most, got, want)
		}
	}
}
