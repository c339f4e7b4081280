package local

import (
	"cmp"
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"sort"
)

const (
	// segmentRows is where a segment is closed. It bounds what a merge reads, and
	// what is held twice while it does.
	segmentRows = 1 << 14
	// maxPageChunks keeps the rows of a segment, the last page included, countable
	// with 16 bits.
	maxPageChunks = math.MaxUint16 - segmentRows
	// checkEvery is how many rows are scanned between two looks at the context.
	checkEvery = 1 << 12
)

// page is what memory keeps of a page: what a filter asks for and what is the
// same for all its chunks.
type page struct {
	id, chunk         int64 // row numbers of the page and of its first chunk
	first, n          int   // rows in the segment
	embedded          int   // how many of them have a vector
	source, url       string
	version, language string
	generation        uint64
	indexedAt         int64 // Unix nanoseconds; 0 if unknown
	modified          int64
}

// segment holds chunks of one fingerprint. It never changes. The rows of a page
// follow each other, pages are in the order of their row numbers.
type segment struct {
	fingerprint string
	dim         int
	pages       []page
	// keys holds the chunk ids one after the other; that of row i ends at ends[i].
	keys string
	ends []uint32
	// matrix, in memory, has one line of dim values per embedded row. embedded are
	// their rows; nil when all rows are.
	memory   *memory
	matrix   []float32
	embedded []uint16
	// The postings of terms[i] are at starts[i] up to starts[i+1].
	terms   []uint32
	starts  []uint32
	rows    []uint16
	weights []float32
}

func (s *segment) size() int { return len(s.ends) }

// bytes is about what the segment takes.
func (s *segment) bytes() int {
	return 160*len(s.pages) + len(s.keys) + 4*len(s.ends) + 4*len(s.matrix) + 2*len(s.embedded) +
		8*len(s.terms) + 2*len(s.rows) + 4*len(s.weights)
}

func (s *segment) key(row int) string {
	start := uint32(0)
	if row > 0 {
		start = s.ends[row-1]
	}
	return s.keys[start:s.ends[row]]
}

func (s *segment) page(row int) *page {
	i := sort.Search(len(s.pages), func(i int) bool { return s.pages[i].first > row })
	return &s.pages[i-1]
}

// find returns the place of a page by its row number.
func (s *segment) find(id int64) (int, bool) {
	return slices.BinarySearchFunc(s.pages, id, func(p page, id int64) int {
		switch {
		case p.id < id:
			return -1
		case p.id > id:
			return 1
		default:
			return 0
		}
	})
}

// postings are the rows and weights of a term.
func (s *segment) postings(term uint32) ([]uint16, []float32) {
	i, found := slices.BinarySearch(s.terms, term)
	if !found {
		return nil, nil
	}
	return s.rows[s.starts[i]:s.starts[i+1]], s.weights[s.starts[i]:s.starts[i+1]]
}

// builder makes a segment of its pages' rows, which are added in order.
type builder struct {
	segment
	keys []byte
	// The terms in the order in which they came, where each stands there, and how
	// many postings it has.
	met    []uint32
	places map[uint32]uint32
	counts []uint32
	// lexTerms are places of terms and lexWeights their weights, row after row; row
	// i ends at lexEnds[i].
	lexTerms   []uint32
	lexWeights []float32
	lexEnds    []uint32
}

// newBuilder makes room for the pages.
func newBuilder(fingerprint string, dim int, pages []page) *builder {
	b := &builder{
		segment: segment{fingerprint: fingerprint, dim: dim, pages: slices.Clone(pages)},
		places:  make(map[uint32]uint32),
	}
	rows, embedded := 0, 0
	for i := range b.pages {
		b.pages[i].first = rows
		rows += b.pages[i].n
		embedded += b.pages[i].embedded
	}
	b.ends = make([]uint32, 0, rows)
	b.memory = newMemory(embedded * dim)
	b.matrix = b.memory.floats[:0]
	b.embedded = make([]uint16, 0, embedded)
	return b
}

var errOverfull = errors.New("a segment of the index is overfull")

func (b *builder) addRow(key, lexical, dense []byte) error {
	row := b.size()
	if row > math.MaxUint16 {
		return errOverfull
	}
	b.keys = append(b.keys, key...)
	b.ends = append(b.ends, uint32(len(b.keys)))
	if err := decodeLexical(lexical, func(term uint32, weight float32) {
		at, ok := b.places[term]
		if !ok {
			at = uint32(len(b.met))
			b.places[term] = at
			b.met = append(b.met, term)
			b.counts = append(b.counts, 0)
		}
		b.counts[at]++
		b.lexTerms = append(b.lexTerms, at)
		b.lexWeights = append(b.lexWeights, weight)
	}); err != nil {
		return err
	}
	b.lexEnds = append(b.lexEnds, uint32(len(b.lexTerms)))
	if dense == nil {
		return nil
	}
	var err error
	b.matrix, err = decodeDense(b.matrix, dense, b.dim)
	b.embedded = append(b.embedded, uint16(row))
	return err
}

// build turns rows of terms into postings of rows by a counting sort.
func (b *builder) build() *segment {
	s := b.segment
	s.keys = string(b.keys)
	if len(b.embedded) == s.size() {
		s.embedded = nil
	}
	order := make([]uint32, len(b.met))
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortFunc(order, func(x, y uint32) int { return cmp.Compare(b.met[x], b.met[y]) })
	s.terms = make([]uint32, len(order))
	s.starts = make([]uint32, len(order)+1)
	next := make([]uint32, len(order)) // by place, where the next posting goes
	for i, at := range order {
		s.terms[i] = b.met[at]
		next[at] = s.starts[i]
		s.starts[i+1] = s.starts[i] + b.counts[at]
	}
	s.rows = make([]uint16, len(b.lexTerms))
	s.weights = make([]float32, len(b.lexTerms))
	i := uint32(0)
	for row, end := range b.lexEnds {
		for ; i < end; i++ {
			to := &next[b.lexTerms[i]]
			s.rows[*to] = uint16(row)
			s.weights[*to] = b.lexWeights[i]
			*to++
		}
	}
	return &s
}

// view is a segment as one state shows it.
type view struct {
	*segment
	shown bitmap // the visible pages, by place
	mask  bitmap // their rows
	live  int    // number of rows in the mask
}

func newView(s *segment) *view {
	v := &view{segment: s, shown: newBitmap(len(s.pages))}
	v.shown.setRange(0, len(s.pages))
	v.settle()
	return v
}

// settle brings the mask in step with what is shown.
func (v *view) settle() {
	v.mask = v.matching(nil)
	v.live = v.mask.count()
}

// matching are the rows of the visible pages that pass.
func (v *view) matching(pass func(*page) bool) bitmap {
	rows := newBitmap(v.size())
	for i := range v.pages {
		p := &v.pages[i]
		if v.shown.has(i) && (pass == nil || pass(p)) {
			rows.setRange(p.first, p.first+p.n)
		}
	}
	return rows
}

// dense offers every embedded row of the mask with its dot product with the
// query, which is the cosine as both have length 1.
func (v *view) dense(ctx context.Context, mask bitmap, query []float32, dot func(x, y []float32) float32, into *topK) error {
	defer runtime.KeepAlive(v)
	dim := v.dim
	for i, n := 0, len(v.matrix)/max(dim, 1); i < n; i++ {
		if i%checkEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		row := i
		if v.embedded != nil {
			row = int(v.embedded[i])
		}
		if mask.has(row) {
			into.offer(scored{float64(dot(query, v.matrix[i*dim:(i+1)*dim])), v, row})
		}
	}
	return nil
}

// lexical offers every row of the mask that holds a term of the query. sums is
// zeroed memory for one value per row, and is left so.
func (v *view) lexical(mask bitmap, terms []uint32, weights []float32, sums []float64, into *topK) {
	var touched []uint16
	for i, term := range terms {
		weight := float64(weights[i])
		rows, has := v.postings(term)
		for j, row := range rows {
			if sums[row] == 0 {
				touched = append(touched, row)
			}
			sums[row] += weight * float64(has[j])
		}
	}
	for _, row := range touched {
		if sum := sums[row]; sum > 0 && mask.has(int(row)) {
			into.offer(scored{sum, v, int(row)})
		}
		sums[row] = 0
	}
}
