package qdrant

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/qdrant/go-client/qdrant"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/search"
	"github.com/docseek/docseek/search/lexical"
)

// Names of the vectors of a chunk.
const (
	denseVector   = "dense"
	lexicalVector = "lexical"
)

// fieldPlace is a chunkPlace.
const fieldPlace = "place"

// maxPageChunks bounds what one page may bring.
const maxPageChunks = 1 << 16

type payload = map[string]*qdrant.Value

// pointID is the id of what the parts name: the same every time.
func pointID(parts ...string) *qdrant.PointId {
	h := sha256.New()
	var size [8]byte
	for _, p := range parts {
		binary.LittleEndian.PutUint64(size[:], uint64(len(p)))
		_, _ = h.Write(size[:])
		_, _ = h.Write([]byte(p))
	}
	return qdrant.NewIDUUID(uuid.UUID(h.Sum(nil)[:16]).String())
}

// chunkID keeps a chunk that goes and comes back apart from the kept one.
func chunkID(c docseek.Chunk, from uint64) *qdrant.PointId {
	return pointID("chunk", c.ID, c.URL, strconv.Itoa(c.Ordinal), number(from))
}

func pageID(source, url string, from uint64) *qdrant.PointId {
	return pointID("page", source, url, number(from))
}

func number(n uint64) string { return strconv.FormatUint(n, 10) }

func text(s string) *qdrant.Value  { return qdrant.NewValueString(s) }
func count(n uint64) *qdrant.Value { return qdrant.NewValueInt(int64(n)) }

func texts(list []string) *qdrant.Value {
	values := make([]*qdrant.Value, len(list))
	for i, s := range list {
		values[i] = text(s)
	}
	return qdrant.NewValueFromList(values...)
}

// encode makes a value of what JSON can hold.
func encode(v any) (*qdrant.Value, error) {
	b, err := json.Marshal(v)
	return text(string(b)), err
}

func decode(v *qdrant.Value, into any) error {
	return json.Unmarshal([]byte(v.GetStringValue()), into)
}

// encodeTime and decodeTime keep times as Unix nanoseconds, 0 for the zero time.
func encodeTime(t time.Time) *qdrant.Value {
	if t.IsZero() {
		return qdrant.NewValueInt(0)
	}
	return qdrant.NewValueInt(t.UnixNano())
}

func decodeTime(v *qdrant.Value) time.Time {
	if v.GetIntegerValue() == 0 {
		return time.Time{}
	}
	return time.Unix(0, v.GetIntegerValue()).UTC()
}

// chunkPoint is a chunk as it is stored.
func chunkPoint(source string, from uint64, page search.PageRecord, e search.Embedding) *qdrant.PointStruct {
	p := payload{
		fieldSource: text(source), fieldURL: text(e.URL), fieldFrom: count(from), fieldTo: count(0),
		fieldOrdinal: count(uint64(e.Ordinal)), fieldPaths: texts(pathPrefixes(e.URL)),
		fieldPlace: encodePlace(source, from, page, e.Chunk),
		"id":       text(e.ID), "title": text(e.Title), "text": text(e.Text),
		"indexed_at": encodeTime(page.IndexedAt), "modified": encodeTime(page.Modified),
	}
	for key, value := range map[string]string{
		"anchor": e.Anchor, "glue": e.Glue, "context": e.Context, fieldLanguage: e.Language, fieldVersion: e.Version,
	} {
		if value != "" {
			p[key] = text(value)
		}
	}
	for key, value := range map[string]int{"lead": e.Lead, "tail": e.Tail} {
		if value != 0 {
			p[key] = count(uint64(value))
		}
	}
	if forms := languageForms(e.Language); len(forms) > 0 {
		p[fieldLangs] = texts(forms)
	}
	vectors := map[string]*qdrant.Vector{}
	if len(e.Lexical.Terms) > 0 {
		vectors[lexicalVector] = qdrant.NewVectorSparse(e.Lexical.Terms, e.Lexical.Weights)
	}
	if e.Vector != nil {
		vectors[denseVector] = qdrant.NewVectorDense(e.Vector)
		p[fieldHash] = text(hashKey(e.TextHash))
	}
	return &qdrant.PointStruct{Id: chunkID(e.Chunk, from), Payload: p, Vectors: qdrant.NewVectorsMap(vectors)}
}

// hashKey is a text hash as it is indexed, "" when it is none.
func hashKey(hash string) string {
	raw, err := hex.DecodeString(hash)
	if err != nil || len(raw) != sha256.Size {
		return ""
	}
	return uuid.UUID(raw[:16]).String()
}

// chunkFields are those of the payload that a chunk is read from.
func chunkFields() []string {
	return []string{
		fieldPlace, "title", "text", "indexed_at", "modified", "anchor", "glue", "context", "lead", "tail",
	}
}

// briefFields are those that rank a chunk.
func briefFields() []string { return []string{fieldPlace} }

// chunkPlace is what ranks a chunk. It is one value, as a search reads some hundred
// of them, and the server takes its time for each field of each.
type chunkPlace struct {
	ID         string   `json:"i"`
	Source     string   `json:"s"`
	URL        string   `json:"u"`
	Path       []string `json:"p,omitempty"`
	Language   string   `json:"l,omitempty"`
	Version    string   `json:"v,omitempty"`
	From       uint64   `json:"f"`
	Ordinal    int      `json:"o"`
	Section    int      `json:"n"`
	PageChunks int      `json:"c"`
}

func encodePlace(source string, from uint64, page search.PageRecord, c docseek.Chunk) *qdrant.Value {
	// Strings and numbers can always be encoded.
	v, _ := encode(chunkPlace{c.ID, source, c.URL, c.Path, c.Language, c.Version, from, c.Ordinal, c.Section, page.Chunks})
	return v
}

// readChunk is the inverse of chunkPoint; not ok when another program has spoilt
// the payload. What it may have changed cannot make Chunk.Body fail.
func readChunk(p payload) (_ search.Chunk, ok bool) {
	var at chunkPlace
	if err := decode(p[fieldPlace], &at); err != nil {
		return search.Chunk{}, false
	}
	c := search.Chunk{
		Chunk: docseek.Chunk{
			ID: at.ID, URL: at.URL, Path: at.Path, Ordinal: at.Ordinal, Section: at.Section, Language: at.Language, Version: at.Version,
			Anchor: p["anchor"].GetStringValue(), Title: p["title"].GetStringValue(), Text: p["text"].GetStringValue(),
			Lead: int(p["lead"].GetIntegerValue()), Tail: int(p["tail"].GetIntegerValue()),
			Glue: p["glue"].GetStringValue(), Context: p["context"].GetStringValue(),
		},
		Source: at.Source, Generation: at.From, PageChunks: at.PageChunks,
		IndexedAt: decodeTime(p["indexed_at"]), Modified: decodeTime(p["modified"]),
	}
	if c.Lead < 0 || c.Tail < 0 || c.Lead > len(c.Text) || c.Tail > len(c.Text)-c.Lead {
		c.Lead, c.Tail = 0, 0
	}
	return c, true
}

// denseOf and termsOf read vectors, which servers before 1.17 give in fields that
// newer ones have replaced.
func denseOf(v *qdrant.VectorsOutput) []float32 {
	out := v.GetVectors().GetVectors()[denseVector]
	return out.GetDenseVector().GetData()
}

func termsOf(v *qdrant.VectorsOutput) []uint32 {
	out := v.GetVectors().GetVectors()[lexicalVector]
	return out.GetSparseVector().GetIndices()
}

// checkPage reports what keeps a page from being stored. dim is that of the
// fingerprint's vectors, 0 when not known yet; the one that the page shows is
// returned.
func checkPage(page search.PageRecord, chunks []search.Embedding, dim int) (int, error) {
	if page.URL == "" {
		return 0, errors.New("it has no URL")
	}
	if len(chunks) > maxPageChunks {
		return 0, fmt.Errorf("it has %d chunks, more than %d", len(chunks), maxPageChunks)
	}
	for i, c := range chunks {
		switch {
		case c.URL != page.URL:
			return 0, fmt.Errorf("chunk %s is of page %s", c.ID, c.URL)
		case c.Ordinal != i:
			return 0, fmt.Errorf("chunk %s has ordinal %d in place %d", c.ID, c.Ordinal, i)
		case c.Lead < 0 || c.Tail < 0 || c.Lead+c.Tail > len(c.Text):
			return 0, fmt.Errorf("chunk %s has a lead of %d and a tail of %d in %d bytes", c.ID, c.Lead, c.Tail, len(c.Text))
		}
		if err := checkLexical(c.Lexical); err != nil {
			return 0, fmt.Errorf("chunk %s: %w", c.ID, err)
		}
		if c.Vector == nil {
			continue
		}
		if dim == 0 {
			dim = len(c.Vector)
		}
		if len(c.Vector) != dim {
			return 0, fmt.Errorf("chunk %s: %w", c.ID, wrongDim(len(c.Vector), dim))
		}
		if err := checkUnit(c.Vector); err != nil {
			return 0, fmt.Errorf("chunk %s: %w", c.ID, err)
		}
		if hashKey(c.TextHash) == "" {
			return 0, fmt.Errorf("chunk %s: text hash %.80q is no SHA-256 in hex", c.ID, c.TextHash)
		}
	}
	return dim, nil
}

func wrongDim(got, want int) error {
	return fmt.Errorf("the vector has %d values where those of its fingerprint have %d: the embedder has changed, which needs a fingerprint of its own", got, want)
}

func checkLexical(v lexical.Vector) error {
	if len(v.Terms) != len(v.Weights) {
		return fmt.Errorf("the lexical vector has %d terms and %d weights", len(v.Terms), len(v.Weights))
	}
	for i, t := range v.Terms {
		if i > 0 && t <= v.Terms[i-1] {
			return errors.New("the terms of the lexical vector are not ascending")
		}
		if !finite(float64(v.Weights[i])) {
			return errors.New("the lexical vector has a weight that is no number")
		}
	}
	return nil
}

// checkUnit allows what rounding makes of a unit vector.
func checkUnit(v []float32) error {
	square := 0.0
	for _, x := range v {
		square += float64(x) * float64(x)
	}
	if !(math.Abs(square-1) < 1e-2) {
		return fmt.Errorf("the vector has length %g, not 1", math.Sqrt(square))
	}
	return nil
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
