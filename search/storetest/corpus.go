package storetest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/search"
	"github.com/docseek/docseek/search/lexical"
)

// CorpusPageChunks is the number of chunks of each page of a [Corpus].
const CorpusPageChunks = 10

const (
	corpusWords  = 60_000
	corpusTopics = 500
	// corpusLatent is the number of directions that chunks of a topic differ in,
	// corpusSpread by how much, and corpusNoise what there is beside them; a topic
	// has length 1. Two chunks of a topic have a cosine of about 0.6.
	corpusLatent = 32
	corpusSpread = 0.75
	corpusNoise  = 0.3
)

// Corpus makes pages of the size and statistics of documentation for benchmarks,
// the same ones every time: words as frequent as Zipf's law says, some 900 bytes
// in a chunk, and vectors in clusters. It is safe for concurrent use.
type Corpus struct {
	words           []string
	topics, latents [][]float32
	analyzer        *lexical.Analyzer
}

// NewCorpus returns a corpus whose vectors have dim dimensions.
func NewCorpus(dim int) *Corpus {
	c := &Corpus{analyzer: lexical.New()}
	rng := seed("corpus")
	const consonants, vowels = "bcdfghklmnprstvz", "aeiou"
	for i := range corpusWords {
		var word strings.Builder
		for rest := i + 1; rest > 0; rest /= len(consonants) * len(vowels) {
			syllable := rest % (len(consonants) * len(vowels))
			word.WriteByte(consonants[syllable%len(consonants)])
			word.WriteByte(vowels[syllable/len(consonants)])
		}
		c.words = append(c.words, word.String()+[]string{"", "n", "r", "x"}[rng.IntN(4)])
	}
	for range corpusTopics {
		c.topics = append(c.topics, Direction(rng, dim))
	}
	for range corpusLatent {
		c.latents = append(c.latents, Direction(rng, dim))
	}
	return c
}

// near is a unit vector about a topic.
func (c *Corpus) near(rng *rand.Rand, topic int) []float32 {
	v := slices.Clone(c.topics[topic])
	add := func(direction []float32, by float64) {
		for i := range v {
			v[i] += float32(by) * direction[i]
		}
	}
	for _, latent := range c.latents {
		add(latent, corpusSpread/math.Sqrt(corpusLatent)*rng.NormFloat64())
	}
	add(Direction(rng, len(v)), corpusNoise)
	return scale(v)
}

// Direction is a random unit vector.
func Direction(rng *rand.Rand, dim int) []float32 {
	v := make([]float32, dim)
	for i := range v {
		v[i] = float32(rng.NormFloat64())
	}
	return scale(v)
}

// scale brings a vector to length 1.
func scale(v []float32) []float32 {
	square := 0.0
	for _, x := range v {
		square += float64(x) * float64(x)
	}
	for i := range v {
		v[i] = float32(float64(v[i]) / math.Sqrt(square))
	}
	return v
}

// Page makes a page in one of its revisions, which have no text in common.
func (c *Corpus) Page(i, revision int) (search.PageRecord, []search.Embedding) {
	rng := seed("page", i, revision)
	zipf := rand.NewZipf(rng, 1.1, 4, corpusWords-1)
	url := fmt.Sprintf("https://docs.example.com/area-%d/guide-%d/page-%d", i%20, i%200, i)
	title := c.text(rng, zipf, 3)
	list := make([]search.Embedding, CorpusPageChunks)
	for j := range list {
		chunk := docseek.Chunk{
			ID: fmt.Sprintf("%d-%d-%d", i, revision, j), URL: url, Ordinal: j, Section: j / 2, Title: title,
			Path: []string{title, c.text(rng, zipf, 2)}, Text: c.text(rng, zipf, 70+rng.IntN(60)),
		}
		chunk.Anchor = strings.ReplaceAll(chunk.Path[1], " ", "-")
		hash := sha256.Sum256([]byte(chunk.ID))
		list[j] = search.Embedding{
			Chunk: chunk, TextHash: hex.EncodeToString(hash[:]), Lexical: c.analyzer.Chunk(chunk),
			Vector: c.near(rng, i%corpusTopics),
		}
	}
	at := time.Unix(1_700_000_000+int64(i), 0).UTC()
	return search.PageRecord{URL: url, Hash: fmt.Sprintf("%d-%d", i, revision), Title: title, FirstSeen: at, IndexedAt: at}, list
}

func (c *Corpus) text(rng *rand.Rand, zipf *rand.Zipf, words int) string {
	parts := make([]string, words)
	for i := range parts {
		parts[i] = c.words[zipf.Uint64()]
		if rng.IntN(12) == 0 {
			parts[i] += "."
		}
	}
	return strings.Join(parts, " ")
}

// Query is a question of a few words, rarer ones among them, and its vector,
// which is near those of a topic.
func (c *Corpus) Query(i int) (text string, vector []float32) {
	rng := seed("query", i)
	words := make([]string, 4)
	for k, n := range []int{50, 500, 5_000, 20_000} {
		words[k] = c.words[n/2+rng.IntN(n)]
	}
	return strings.Join(words, " "), c.near(rng, rng.IntN(corpusTopics))
}
