package embed_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/docseek/docseek/embed"
)

const fingerprint = "model=test"

// cacheProcess turns the test binary into a process that fills a cache, when
// the environment says so: with the texts FIRST to LAST, one Put each, the
// number of the last one that is kept on stdout.
func cacheProcess() (code int, ok bool) {
	dir := os.Getenv("CACHE_DIR")
	if dir == "" {
		return 0, false
	}
	first, _ := strconv.Atoi(os.Getenv("CACHE_FIRST"))
	last, _ := strconv.Atoi(os.Getenv("CACHE_LAST"))
	ctx := context.Background()
	c, err := embed.OpenDiskCache(ctx, dir, 0)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1, true
	}
	for i := first; i <= last; i++ {
		if err := c.Put(ctx, fingerprint, entries(i, i)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1, true
		}
		fmt.Println(i)
	}
	return 0, true
}

func exit(code int) { os.Exit(code) }

func startProcess(t *testing.T, dir string, first, last int) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "CACHE_DIR="+dir, fmt.Sprintf("CACHE_FIRST=%d", first), fmt.Sprintf("CACHE_LAST=%d", last))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewScanner(out)
}

// entries are made-up vectors of 64 dimensions of the texts "first" to "last".
func entries(first, last int) map[string][]float32 {
	vectors := map[string][]float32{}
	for i := first; i <= last; i++ {
		v := make([]float32, 64)
		for k := range v {
			v[k] = float32(i) + float32(k)/64
		}
		vectors[embed.TextHash(strconv.Itoa(i))] = v
	}
	return vectors
}

func hashes(first, last int) []string {
	var out []string
	for i := first; i <= last; i++ {
		out = append(out, embed.TextHash(strconv.Itoa(i)))
	}
	return out
}

func openCache(t *testing.T, dir string, maxBytes int64) *embed.DiskCache {
	t.Helper()
	c, err := embed.OpenDiskCache(t.Context(), dir, maxBytes)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func put(t *testing.T, c *embed.DiskCache, first, last int) {
	t.Helper()
	if err := c.Put(t.Context(), fingerprint, entries(first, last)); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, c *embed.DiskCache, first, last int) map[string][]float32 {
	t.Helper()
	got, err := c.Get(t.Context(), fingerprint, hashes(first, last))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func wantEntries(t *testing.T, c *embed.DiskCache, first, last int) {
	t.Helper()
	want, got := entries(first, last), get(t, c, first, last)
	if !maps.EqualFunc(want, got, slices.Equal) {
		t.Errorf("vectors %d to %d (-want +got):\n%s", first, last, cmp.Diff(want, got))
	}
}

func segments(t *testing.T, dir string) (names []string, bytes int64) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.vectors"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		bytes += info.Size()
	}
	return names, bytes
}

func TestTheCacheGivesBackWhatWasPut(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "cache")
	c := openCache(t, dir, 0)
	put(t, c, 1, 3)
	put(t, c, 3, 5)
	wantEntries(t, c, 1, 5)
	if got := get(t, c, 6, 9); len(got) != 0 {
		t.Errorf("vectors that were never put: %v", got)
	}
	other, err := c.Get(t.Context(), "model=other", hashes(1, 5))
	if err != nil || len(other) != 0 {
		t.Errorf("vectors of another model: %v, %v", other, err)
	}
	wantEntries(t, openCache(t, dir, 0), 1, 5)
	_, before := segments(t, dir)
	put(t, c, 1, 5)
	if _, after := segments(t, dir); after != before {
		t.Errorf("what is there was written again: %d bytes became %d", before, after)
	}
}

func TestTheCacheIsPrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	put(t, openCache(t, dir, 0), 1, 1)
	names, _ := segments(t, dir)
	for name, want := range map[string]os.FileMode{dir: 0o700 | os.ModeDir, names[0]: 0o600} {
		if info, err := os.Stat(name); err != nil || info.Mode() != want {
			t.Errorf("%s: mode %v, want %v", name, info.Mode(), want)
		}
	}
}

func TestTheCacheRefusesWhatIsNoVector(t *testing.T) {
	c := openCache(t, t.TempDir(), 0)
	for _, bad := range []map[string][]float32{
		{"no hash": {1}},
		{embed.TextHash("a"): nil},
		{embed.TextHash("a"): make([]float32, 1<<16+1)},
	} {
		if err := c.Put(t.Context(), fingerprint, bad); err == nil {
			t.Errorf("Put of %.80v succeeded", bad)
		}
	}
	if _, err := c.Get(t.Context(), fingerprint, []string{"no hash"}); err == nil {
		t.Error("Get of no hash succeeded")
	}
	if _, err := embed.OpenDiskCache(t.Context(), t.TempDir(), 100); err == nil {
		t.Error("a bound of 100 bytes was accepted")
	}
}

func TestACrashAtAnyByteCostsOnlyTheRecordBeingWritten(t *testing.T) {
	dir := t.TempDir()
	put(t, openCache(t, dir, 0), 1, 1)
	names, one := segments(t, dir)
	put(t, openCache(t, dir, 0), 2, 2)
	put(t, openCache(t, dir, 0), 3, 3)
	whole, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, filler := range []int{0, 400} {
		for cut := 2 * one; cut < int64(len(whole)); cut++ {
			torn := bytes.Clone(whole[:cut])
			if filler > 0 { // a file that grew before its content came
				torn = append(torn, ^whole[cut])
				torn = append(torn, make([]byte, filler)...)
			}
			if err := os.WriteFile(names[0], torn, 0o600); err != nil {
				t.Fatal(err)
			}
			c, err := embed.OpenDiskCache(t.Context(), dir, 0)
			if err != nil {
				t.Fatalf("cut at %d: %v", cut, err)
			}
			wantEntries(t, c, 1, 2)
			if got := get(t, c, 3, 3); len(got) != 0 {
				t.Fatalf("cut at %d with %d bytes after it: the torn record was read: %v", cut, filler, got)
			}
			if _, size := segments(t, dir); size != 2*one {
				t.Fatalf("cut at %d: %d bytes are left, want %d", cut, size, 2*one)
			}
			put(t, c, 3, 3)
			wantEntries(t, c, 1, 3)
			if err := c.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestADamagedRecordIsNotBelieved(t *testing.T) {
	dir := t.TempDir()
	c := openCache(t, dir, 0)
	put(t, c, 1, 4)
	names, _ := segments(t, dir)
	file, err := os.OpenFile(names[0], os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteAt([]byte{0x55}, 100); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	if got := get(t, c, 1, 4); len(got) != 3 {
		t.Errorf("%d vectors were read, want the 3 sound ones", len(got))
	}
	put(t, c, 1, 4)
	wantEntries(t, c, 1, 4)
}

func TestTheOldestGoFirst(t *testing.T) {
	dir := t.TempDir()
	c := openCache(t, dir, embed.MinCacheBytes)
	const n = 6000 // 300 bytes each
	for i := 1; i <= n; i += 10 {
		put(t, c, i, i+9)
	}
	if _, bytes := segments(t, dir); bytes > embed.MinCacheBytes || bytes < embed.MinCacheBytes*8/10 {
		t.Errorf("%d bytes are kept of a bound of %d", bytes, embed.MinCacheBytes)
	}
	kept := get(t, c, 1, n)
	wantEntries(t, c, n-len(kept)+1, n)
	if again := openCache(t, dir, embed.MinCacheBytes); len(get(t, again, 1, n)) != len(kept) {
		t.Errorf("%d are kept, %d after opening again", len(kept), len(get(t, again, 1, n)))
	}
}

func TestALowerBoundPrunesOnOpening(t *testing.T) {
	dir := t.TempDir()
	put(t, openCache(t, dir, 64<<20), 1, 6000)
	c := openCache(t, dir, embed.MinCacheBytes)
	if _, bytes := segments(t, dir); bytes > embed.MinCacheBytes {
		t.Errorf("%d bytes are kept of a bound of %d", bytes, embed.MinCacheBytes)
	}
	put(t, c, 1, 10)
	wantEntries(t, c, 1, 10)
}

func TestOtherFilesAreLeftAlone(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"notes.txt", "x.vectors", "1.vectors", "00000001.vectors", "00000001-0123456789ABCDEF.vectors", "x.used"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := openCache(t, dir, embed.MinCacheBytes)
	put(t, c, 1, 6000)
	if err := c.Keep(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"notes.txt", "x.vectors", "1.vectors", "00000001.vectors", "00000001-0123456789ABCDEF.vectors", "x.used"} {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != "mine" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestTwoCachesOfOneDirectorySeeEachOther(t *testing.T) {
	dir := t.TempDir()
	a, b := openCache(t, dir, embed.MinCacheBytes), openCache(t, dir, embed.MinCacheBytes)
	put(t, a, 1, 10)
	wantEntries(t, b, 1, 10)
	put(t, b, 11, 20)
	wantEntries(t, a, 1, 20)
	for i := 21; i <= 6000; i += 20 {
		put(t, a, i, i+19) // and so the first ones are pruned
	}
	if got := get(t, b, 1, 20); len(got) != 0 {
		t.Errorf("b still reads %d vectors that a has pruned", len(got))
	}
	wantEntries(t, b, 5990, 6000)
}

func TestTwoProcessesWriteOneCache(t *testing.T) {
	dir := t.TempDir()
	var running []*exec.Cmd
	lines := make(chan int)
	for p := range 2 {
		cmd, out := startProcess(t, dir, 1000*p+1, 1000*p+300)
		running = append(running, cmd)
		go func() {
			var kept int
			for out.Scan() {
				kept++
			}
			lines <- kept
		}()
	}
	c := openCache(t, dir, 0)
	put(t, c, 5001, 5100)
	for range running {
		if kept := <-lines; kept != 300 {
			t.Errorf("a process kept %d vectors, want 300", kept)
		}
	}
	for _, cmd := range running {
		if err := cmd.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	wantEntries(t, c, 1, 300)
	wantEntries(t, c, 1001, 1300)
	wantEntries(t, openCache(t, dir, 0), 5001, 5100)
}

func TestAKilledWriterLosesNothingThatWasKept(t *testing.T) {
	dir := t.TempDir()
	for round := range 5 {
		cmd, out := startProcess(t, dir, 1, 1<<30)
		kept := 0
		for kept < 50*(round+1) && out.Scan() {
			var err error
			if kept, err = strconv.Atoi(out.Text()); err != nil {
				t.Fatal(err)
			}
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		c := openCache(t, dir, 0)
		wantEntries(t, c, 1, kept)
		put(t, c, 1<<30+1, 1<<30+round+1)
		wantEntries(t, c, 1<<30+1, 1<<30+round+1)
	}
}

func TestFingerprintsOutOfUseGo(t *testing.T) {
	dir := t.TempDir()
	c := openCache(t, dir, 0)
	for _, of := range []string{"model=a", "model=b", "model=c"} {
		if err := c.Put(t.Context(), of, entries(1, 3)); err != nil {
			t.Fatal(err)
		}
	}
	put(t, c, 1, 3)
	if err := c.Keep(t.Context(), "model=b", fingerprint); err != nil {
		t.Fatal(err)
	}
	for of, want := range map[string]int{"model=a": 0, "model=b": 3, "model=c": 0, fingerprint: 3} {
		for _, seen := range []*embed.DiskCache{c, openCache(t, dir, 0)} {
			if got, err := seen.Get(t.Context(), of, hashes(1, 3)); err != nil || len(got) != want {
				t.Errorf("%d vectors of %s are kept, want %d (%v)", len(got), of, want, err)
			}
		}
	}
	if names, _ := segments(t, dir); len(names) != 2 {
		t.Errorf("segments %v are left, want one of each fingerprint in use", names)
	}
}

// What another process is working on is kept until it ends, however it ends.
func TestWhatAnotherProcessUsesIsKept(t *testing.T) {
	dir := t.TempDir()
	cmd, out := startProcess(t, dir, 1, 1<<30)
	for range 10 {
		if !out.Scan() {
			t.Fatal("the process ended")
		}
	}
	c := openCache(t, dir, 0)
	if err := c.Keep(t.Context(), "model=other"); err != nil {
		t.Fatal(err)
	}
	reader, err := embed.OpenDiskCache(t.Context(), dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	wantEntries(t, reader, 1, 10)
	if err := reader.Close(); err != nil {
		t.Fatal(err)
	}
	if !out.Scan() {
		t.Fatal("the process ended")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	again := openCache(t, t.TempDir(), 0)
	put(t, again, 1, 1)
	if err := again.Keep(t.Context()); err != nil || len(get(t, again, 1, 1)) != 0 {
		t.Errorf("a cache keeps what it uses itself: %v", err)
	}
	alone := openCache(t, dir, 0)
	if err := alone.Keep(t.Context(), "model=other"); err != nil {
		t.Fatal(err)
	}
	if names, _ := segments(t, dir); len(names) != 0 {
		t.Errorf("after the process was killed %v are left", names)
	}
}

// A directory that was emptied is written anew while another has it open that
// still knows what it held.
func TestAnEmptiedCacheIsSafeForWhoKnowsItsPast(t *testing.T) {
	dir := t.TempDir()
	old := openCache(t, dir, 0)
	put(t, old, 1, 5)
	names, _ := segments(t, dir)
	for _, name := range names {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	put(t, openCache(t, dir, 0), 101, 120)
	put(t, old, 1, 5)
	wantEntries(t, openCache(t, dir, 0), 101, 120)
	wantEntries(t, old, 101, 120)
	wantEntries(t, old, 1, 5)
}

func FuzzDiskCacheFile(f *testing.F) {
	dir := f.TempDir()
	c, err := embed.OpenDiskCache(f.Context(), dir, 0)
	if err != nil {
		f.Fatal(err)
	}
	if err := c.Put(f.Context(), fingerprint, entries(1, 2)); err != nil {
		f.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(dir, "*.vectors"))
	if err != nil || len(names) != 1 {
		f.Fatal(names, err)
	}
	seed, err := os.ReadFile(names[0])
	if err != nil {
		f.Fatal(err)
	}
	_ = c.Close()
	name := filepath.Base(names[0])
	f.Add(seed)
	f.Add(seed[:len(seed)-1])
	f.Add([]byte("dsv1\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, content []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
		c := openCache(t, dir, 0)
		for hash, v := range get(t, c, 1, 2) {
			if !cmp.Equal(v, entries(1, 2)[hash]) {
				t.Errorf("a vector that was never put: %v", v)
			}
		}
		put(t, c, 3, 4)
		wantEntries(t, openCache(t, dir, 0), 3, 4)
	})
}

func BenchmarkDiskCacheOpen(b *testing.B) {
	dir := b.TempDir()
	c, err := embed.OpenDiskCache(b.Context(), dir, 0)
	if err != nil {
		b.Fatal(err)
	}
	if err := c.Put(b.Context(), fingerprint, entries(1, 20000)); err != nil {
		b.Fatal(err)
	}
	_ = c.Close()
	for b.Loop() {
		c, err := embed.OpenDiskCache(b.Context(), dir, 0)
		if err != nil {
			b.Fatal(err)
		}
		_ = c.Close()
	}
}

func BenchmarkDiskCacheGet(b *testing.B) {
	c, err := embed.OpenDiskCache(b.Context(), b.TempDir(), 0)
	if err != nil {
		b.Fatal(err)
	}
	if err := c.Put(b.Context(), fingerprint, entries(1, 1000)); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if got, err := c.Get(b.Context(), fingerprint, hashes(1, 1000)); err != nil || len(got) != 1000 {
			b.Fatal(len(got), err)
		}
	}
	_ = c.Close()
}

func BenchmarkDiskCachePut(b *testing.B) {
	c, err := embed.OpenDiskCache(b.Context(), b.TempDir(), 0)
	if err != nil {
		b.Fatal(err)
	}
	for i := 1; b.Loop(); i += 32 {
		if err := c.Put(b.Context(), fingerprint, entries(i, i+31)); err != nil {
			b.Fatal(err)
		}
	}
	_ = c.Close()
}
