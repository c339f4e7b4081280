package schemasearch

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"

	"github.com/docseek/docseek/graphql"
)

// Damping says how the depth of a field's path lowers its score.
type Damping string

const (
	// DampNone leaves scores as they are.
	DampNone Damping = "none"
	// DampShifted divides by 2+depth.
	DampShifted Damping = "2+depth"
	// DampDepth divides by the depth.
	DampDepth Damping = "depth"
)

// DefaultDamping is what measures best (docs/evaluation.md).
const DefaultDamping = DampShifted

// Mutations says how fields are shown that only a mutation leads to.
type Mutations string

const (
	// MutationsPlain shows them like all others.
	MutationsPlain Mutations = "plain"
	// MutationsMarked shows them with a remark that they are not executable here.
	MutationsMarked Mutations = "marked"
	// MutationsHidden leaves them out.
	MutationsHidden Mutations = "hidden"
)

// Options are the settings of an index. The zero value is the default.
type Options struct {
	// Damping is how depth lowers the score; empty means [DefaultDamping].
	Damping Damping
	// Mutations is how mutations are shown; empty means [MutationsPlain].
	Mutations Mutations
}

// The weights of the score, (3·name + 2·description + 1·parent_type) / damping,
// each of the three the strength of the match (BM25) within that part; and how
// much what stands beside them counts within a part.
const (
	nameWeight        = 3
	descriptionWeight = 2
	parentWeight      = 1

	argumentShare     = 0.1  // an argument's name within the field's
	argumentTextShare = 0.02 // an argument's description within the field's
	typeShare         = 0.2  // the description of the field's type within its own
)

// Parameters of BM25 (Robertson and Zaragoza, The Probabilistic Relevance
// Framework, 2009): how soon repeats of a word stop to count, and how much
// length does.
const (
	saturation  = 1.2
	lengthShare = 0.75
)

// What a score is multiplied by. All of it holds for every schema alike.
const (
	// deprecatedShare puts what is deprecated after what replaced it.
	deprecatedShare = 0.9
	// inputShare is for input fields and enum values: they are no answer by
	// themselves, but part of the field that takes or gives them.
	inputShare = 0.5
	// payloadShare is for the fields that only a mutation, a subscription or a
	// shortcut such as Relay's node leads to.
	payloadShare = 0.6
	// unaskedShare is for mutations that do more than the query says: a question
	// about webhook subscriptions does not ask for webhookSubscriptionDelete.
	unaskedShare = 0.6
	// wholeShare is for names, of a field or of its type, whose words are all asked for.
	wholeShare = 1.2
)

// entry is one thing that can be found: the field of a type, of an input type,
// or a value of an enum.
type entry struct {
	parent *ast.Definition
	field  *ast.FieldDefinition // nil for an enum value
	value  *ast.EnumValueDefinition
	// way is the field that leads to an input field or enum value: it takes or
	// gives the type. For an output field it is the field itself.
	way   taker
	depth int
	// mutation and subscription say where the way starts, if not at Query.
	mutation, subscription bool
	// nameWords and parentWords are the words of the two names.
	nameWords, parentWords []int32
}

func (e *entry) name() string {
	if e.value != nil {
		return e.value.Name
	}
	return e.field.Name
}

func (e *entry) String() string { return e.parent.Name + "." + e.name() }

func (e *entry) deprecated() bool {
	if e.value != nil {
		return e.value.Directives.ForName("deprecated") != nil
	}
	return e.field.Directives.ForName("deprecated") != nil
}

// posting is what a word gives to an entry's score.
type posting struct {
	entry  int32
	weight float32
}

// Index finds and prints the fields of one schema. It is immutable and safe for
// concurrent use.
type Index struct {
	schema  *graphql.Schema
	options Options
	graph   *graph
	entries []entry
	// words are the numbers of the stems that are known, forms those of the words
	// as they stand, in the order of spelled; postings and idf are by number.
	words    map[string]int32
	forms    map[string]int32
	spelled  []string
	postings [][]posting
	idf      []float32
}

// New indexes a schema: every field of every type that a root leads to, the
// fields of input types and the values of enums.
//
// The path of a field is the cheapest one from Query. A field costs 1, a cast to
// one of several types more the more there are, and a cast of an interface that
// everything implements (Relay's Node) so much that no path goes that way while
// there is another. Types that Query does not lead to get a path from Mutation,
// then from Subscription; the rest cannot be found, only inspected.
func New(s *graphql.Schema, o Options) *Index {
	o.Damping = cmp.Or(o.Damping, DefaultDamping)
	o.Mutations = cmp.Or(o.Mutations, MutationsPlain)
	x := &Index{schema: s, options: o, graph: newGraph(s.AST(), o.Mutations != MutationsHidden)}
	x.collect()
	x.weigh()
	return x
}

// collect lists the entries, by type and then in the order of the schema.
func (x *Index) collect() {
	takers := x.graph.takers()
	for _, name := range x.schema.Names() {
		def := x.schema.Type(name)
		step, reached := x.graph.to[name]
		by, taken := takers[name]
		switch {
		case reached:
			for _, f := range def.Fields {
				if !strings.HasPrefix(f.Name, "__") {
					x.entries = append(x.entries, x.entry(def, taker{def, f}, entry{field: f}, step.depth+1))
				}
			}
		case taken:
			depth := x.graph.to[by.parent.Name].depth + 2
			for _, f := range def.Fields {
				x.entries = append(x.entries, x.entry(def, by, entry{field: f}, depth))
			}
			for _, v := range def.EnumValues {
				x.entries = append(x.entries, x.entry(def, by, entry{value: v}, depth))
			}
		}
	}
}

// entry completes an entry of a type with the way that leads to it.
func (x *Index) entry(parent *ast.Definition, way taker, e entry, depth int) entry {
	e.parent, e.way, e.depth = parent, way, depth
	switch schema := x.schema.AST(); x.graph.root(way.parent) {
	case schema.Query: // also where it is a root of its own besides
	case schema.Mutation:
		e.mutation = true
	case schema.Subscription:
		e.subscription = true
	}
	return e
}

// share is what an entry's score is multiplied by whatever is asked.
func (x *Index) share(e *entry) float64 {
	share := 1.0
	switch {
	case e.parent.Kind == ast.InputObject || e.parent.Kind == ast.Enum:
		share = inputShare
	case e.mutation && e.depth > 1, e.subscription, x.graph.to[e.parent.Name].shortcut:
		share = payloadShare
	}
	if e.deprecated() {
		share *= deprecatedShare
	}
	switch x.options.Damping {
	case DampDepth:
		return share / float64(e.depth)
	case DampNone:
		return share
	default:
		return share / float64(2+e.depth)
	}
}

// bag counts the words of one part of an entry.
type bag struct {
	words  []int32
	shares []float32
	length float64
}

func (b *bag) add(words []int32, share float64) {
	for _, w := range words {
		b.length += share
		if i := slices.Index(b.words, w); i >= 0 {
			b.shares[i] += float32(share)
			continue
		}
		b.words, b.shares = append(b.words, w), append(b.shares, float32(share))
	}
}

// weigh turns the words of all entries into postings: for each word, what it
// adds to the score of each entry that has it.
func (x *Index) weigh() {
	v := newVocabulary()
	names, texts := newCache(v, identifierWords), newCache(v, textWords)
	var parts [3][]bag // name, description, parent type
	for i := range parts {
		parts[i] = make([]bag, len(x.entries))
	}
	for i := range x.entries {
		e := &x.entries[i]
		e.nameWords, e.parentWords = names.get(e.name()), names.get(e.parent.Name)
		name, text, parent := &parts[0][i], &parts[1][i], &parts[2][i]
		name.add(e.nameWords, 1)
		parent.add(e.parentWords, 1)
		if e.value != nil {
			text.add(texts.get(e.value.Description), 1)
			continue
		}
		length := name.length // arguments do not make a name longer
		for _, a := range e.field.Arguments {
			name.add(names.get(a.Name), argumentShare)
		}
		name.length = length
		length = text.length
		for _, a := range e.field.Arguments {
			text.add(texts.get(a.Description), argumentTextShare)
		}
		text.length = length
		text.add(texts.get(e.field.Description), 1)
		if t := x.schema.Type(e.field.Type.Name()); !t.BuiltIn {
			text.add(texts.get(t.Description), typeShare)
		}
	}
	x.words, x.forms, x.spelled = v.ids, v.stems, slices.Sorted(maps.Keys(v.stems))
	x.postings = make([][]posting, len(v.ids))
	for i, weight := range []float64{nameWeight, descriptionWeight, parentWeight} {
		x.post(parts[i], weight)
	}
	x.idf = make([]float32, len(v.ids))
	for i, list := range x.postings {
		x.postings[i] = merge(list)
		x.idf[i] = float32(idf(len(x.entries), len(x.postings[i])))
	}
}

// idf is the inverse document frequency of a word that f of n texts have.
func idf(n, f int) float64 { return math.Log(1 + (float64(n)-float64(f)+0.5)/(float64(f)+0.5)) }

// post adds one part of the entries to the postings.
func (x *Index) post(bags []bag, weight float64) {
	frequency := make([]int, len(x.postings))
	total, filled := 0.0, 0
	for _, b := range bags {
		for _, w := range b.words {
			frequency[w]++
		}
		if total += b.length; b.length > 0 {
			filled++
		}
	}
	average := total / float64(max(filled, 1))
	for i, b := range bags {
		whole := weight * x.share(&x.entries[i])
		norm := saturation * (1 - lengthShare + lengthShare*b.length/average)
		for k, w := range b.words {
			times := float64(b.shares[k])
			x.postings[w] = append(x.postings[w], posting{
				entry: int32(i), weight: float32(whole * idf(filled, frequency[w]) * times * (saturation + 1) / (times + norm)),
			})
		}
	}
}

// merge sums the postings of the same entry.
func merge(list []posting) []posting {
	slices.SortStableFunc(list, func(a, b posting) int { return cmp.Compare(a.entry, b.entry) })
	kept := list[:0]
	for _, p := range list {
		if n := len(kept); n > 0 && kept[n-1].entry == p.entry {
			kept[n-1].weight += p.weight
			continue
		}
		kept = append(kept, p)
	}
	return slices.Clip(kept)
}

// cache keeps the numbered words of texts, many of which come again.
type cache struct {
	vocabulary *vocabulary
	split      func(string) []string
	known      map[string][]int32
}

func newCache(v *vocabulary, split func(string) []string) *cache {
	return &cache{vocabulary: v, split: split, known: map[string][]int32{}}
}

func (c *cache) get(text string) []int32 {
	if text == "" {
		return nil
	}
	if ids, ok := c.known[text]; ok {
		return ids
	}
	words := c.split(text)
	ids := make([]int32, len(words))
	for i, w := range words {
		ids[i] = c.vocabulary.id(w)
	}
	c.known[text] = ids
	return ids
}
