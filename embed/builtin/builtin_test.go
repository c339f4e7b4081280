package builtin

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/docseek/docseek/embed"
	"github.com/docseek/docseek/embed/encoder"
)

func newModel(tb testing.TB, o Options) *Model {
	tb.Helper()
	m, err := New(o)
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

type golden struct {
	text   string
	vector []float32
}

// goldens are texts with the vectors that the original weights give in 32-bit floats.
func goldens(tb testing.TB) []golden {
	tb.Helper()
	f, err := os.Open("testdata/vectors.jsonl")
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	var all []golden
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var line struct {
			Text   string `json:"text"`
			Vector []byte `json:"vector"`
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			tb.Fatal(err)
		}
		g := golden{text: line.Text}
		for b := line.Vector; len(b) >= 2; b = b[2:] {
			g.vector = append(g.vector, float32(int16(binary.LittleEndian.Uint16(b)))/32767)
		}
		all = append(all, g)
	}
	if len(all) < 200 {
		tb.Fatalf("only %d goldens", len(all))
	}
	return all
}

func textsOf(goldens []golden) []string {
	texts := make([]string, len(goldens))
	for i, g := range goldens {
		texts[i] = g.text
	}
	return texts
}

func cosine(a, b []float32) float64 {
	var ab, aa, bb float64
	for i := range a {
		ab += float64(a[i]) * float64(b[i])
		aa += float64(a[i]) * float64(a[i])
		bb += float64(b[i]) * float64(b[i])
	}
	return ab / math.Sqrt(aa*bb)
}

func TestVectorsAreThoseOfTheOriginal(t *testing.T) {
	want := goldens(t)
	m := newModel(t, Options{})
	vectors, err := m.Embed(t.Context(), textsOf(want), embed.Query)
	if err != nil {
		t.Fatal(err)
	}
	sum, least := 0.0, 1.0
	for i, v := range vectors {
		c := cosine(v, want[i].vector)
		if c < 0.99 {
			t.Errorf("cosine %.4f to the original: %q", c, want[i].text)
		}
		sum, least = sum+c, min(least, c)
		if length := cosine(v, v) * norm(v); math.Abs(length-1) > 1e-6 {
			t.Errorf("length %g: %q", length, want[i].text)
		}
	}
	mean := sum / float64(len(want))
	t.Logf("%s: cosine to the original: mean %.5f, least %.5f", m.Kernel(), mean, least)
	if mean < 0.998 {
		t.Errorf("mean cosine %.5f to the original", mean)
	}
}

func norm(v []float32) float64 {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	return math.Sqrt(sum)
}

func TestKernelsGiveTheSameBits(t *testing.T) {
	texts := textsOf(goldens(t))
	// Plain Go is slow, and its operations are tested one by one with the kernels.
	slices.SortFunc(texts, func(a, b string) int { return len(a) - len(b) })
	var some []string
	for i := 10; i < len(texts); i += 45 {
		some = append(some, texts[i])
	}
	var want [][]float32
	for _, name := range slices.Backward(encoder.Kernels()) {
		m := newModel(t, Options{CPU: name})
		if m.Kernel() != name {
			t.Errorf("asked for kernel %s, got %s", name, m.Kernel())
		}
		got, err := m.Embed(t.Context(), some, embed.Query)
		if err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = got
		}
		for i := range some {
			if !slices.Equal(got[i], want[i]) {
				t.Errorf("%s: cosine %.6f to plain Go: %q", name, cosine(got[i], want[i]), some[i])
			}
		}
	}
}

// An index that was built on one machine is searched on another, so the bits are
// the same on every processor, not only with every kernel of this one.
func TestBitsAreTheSameOnEveryMachine(t *testing.T) {
	texts := []string{"", "How do I rotate a signing key?", "Quotas are counted per reservoir, in litres: 2³ × 5 = 40 – naïve, but it works."}
	const want = "913c4690dee26c70b7ef4d83a655e08932152f8170706deb7bf2441fefce4663"
	for _, name := range encoder.Kernels() {
		vectors, err := newModel(t, Options{CPU: name}).Embed(t.Context(), texts, embed.Passage)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.New()
		for _, v := range vectors {
			if err := binary.Write(sum, binary.LittleEndian, v); err != nil {
				t.Fatal(err)
			}
		}
		if got := hex.EncodeToString(sum.Sum(nil)); got != want {
			t.Errorf("%s: the vectors have the sum %s, not %s", name, got, want)
		}
	}
}

func TestAVectorDependsOnItsTextAlone(t *testing.T) {
	texts := textsOf(goldens(t))[:60]
	for _, name := range encoder.Kernels() {
		if name == "generic" {
			texts = texts[30:33]
		}
		m := newModel(t, Options{CPU: name, Workers: 3})
		together, err := m.Embed(t.Context(), texts, embed.Query)
		if err != nil {
			t.Fatal(err)
		}
		alone := newModel(t, Options{CPU: name, Workers: 1})
		for i, text := range slices.Backward(texts) {
			v, err := alone.Embed(t.Context(), []string{text}, embed.Passage)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(v[0], together[i]) {
				t.Errorf("%s: other bits beside other texts: %q", name, text)
			}
		}
	}
}

func TestLengths(t *testing.T) {
	m := newModel(t, Options{})
	lengths := []int{0, 1, 2, 3, 5, 8, 9, 10, 11, 12, 13, 14, 15, 30, 46, 47, 61, 62, 63, 127, 190, 253, 254}
	for _, words := range lengths {
		v, err := m.Embed(t.Context(), []string{strings.Repeat("gate ", words)}, embed.Passage)
		if err != nil || math.Abs(norm(v[0])-1) > 1e-6 {
			t.Fatalf("%d words: length %g, error %v", words, norm(v[0]), err)
		}
	}
}

func TestTooLong(t *testing.T) {
	var log bytes.Buffer
	m := newModel(t, Options{Log: slog.New(slog.NewJSONHandler(&log, nil))})
	texts := []string{"short", strings.Repeat("word ", 300)}

	_, err := m.Embed(t.Context(), texts, embed.Passage)
	var text *embed.TextError
	var tooLong *TooLongError
	if !errors.As(err, &text) || text.Index != 1 || !errors.As(err, &tooLong) || tooLong.Tokens != 302 || tooLong.Limit != 256 {
		t.Errorf("passage: got error %v", err)
	}
	if log.Len() > 0 {
		t.Errorf("passage: logged %s", &log)
	}

	vectors, err := m.Embed(t.Context(), texts, embed.Query)
	if err != nil {
		t.Fatal(err)
	}
	cut, err := m.Embed(t.Context(), []string{strings.Repeat("word ", 254)}, embed.Passage)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(vectors[1], cut[0]) {
		t.Error("query: not embedded as its first 254 words")
	}
	var entry struct{ Tokens, Limit int }
	if err := json.Unmarshal(log.Bytes(), &entry); err != nil || entry.Tokens != 302 || entry.Limit != 256 {
		t.Errorf("query: logged %q (%v)", &log, err)
	}
}

func TestEmbedStops(t *testing.T) {
	m := newModel(t, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.Embed(ctx, []string{"text"}, embed.Passage); !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v", err)
	}
	if v, err := m.Embed(t.Context(), nil, embed.Passage); err != nil || len(v) != 0 {
		t.Errorf("no texts: got %v, error %v", v, err)
	}
}

func TestFingerprint(t *testing.T) {
	h := newModel(t, Options{}).encoder.Header()
	want := "model=all-MiniLM-L6-v2;weights=" + h.Payload[:12] + ";precision=int8;dimension=384;pooling=mean;normalisation=l2;limit=256"
	for _, name := range encoder.Kernels() {
		if got := newModel(t, Options{CPU: name}).Fingerprint(); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

func TestFileIsIntact(t *testing.T) {
	if err := encoder.Verify(file); err != nil {
		t.Error(err)
	}
	if len(file) > 25<<20 {
		t.Errorf("the file has %d bytes", len(file))
	}
}

func TestNewRefusesAnUnknownKernel(t *testing.T) {
	if _, err := New(Options{CPU: "abacus"}); err == nil || !strings.Contains(err.Error(), "generic") {
		t.Errorf("got error %v, want one that names the kernels", err)
	}
}

// BenchmarkEmbed embeds one text after the other on one core.
func BenchmarkEmbed(b *testing.B) {
	for _, name := range encoder.Kernels() {
		for _, tokens := range []int{32, 128, 256} {
			b.Run(fmt.Sprintf("%s/%d", name, tokens), func(b *testing.B) {
				m := newModel(b, Options{CPU: name, Workers: 1})
				texts := []string{strings.Repeat("gate ", tokens-encoder.Overhead)}
				for b.Loop() {
					if _, err := m.Embed(b.Context(), texts, embed.Passage); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "texts/s")
			})
		}
	}
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		newModel(b, Options{})
	}
}
