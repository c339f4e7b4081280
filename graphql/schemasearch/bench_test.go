package schemasearch

import (
	"slices"
	"testing"
	"time"

	"github.com/docseek/docseek/graphql"
)

// questions are searches of different breadth.
var questions = [][]string{
	{"invoice payment reference"},
	{"account"},
	{"webhook subscription", "create"},
	{"shipping address of an order"},
	{"gift card balance"},
	{"update product price"},
	{"created at"},
	{"id"},
	{"customer", "email", "consent"},
	{"state"},
}

func BenchmarkNew(b *testing.B) {
	s := mustLoad(b, generated(1600))
	b.ReportAllocs()
	for b.Loop() {
		New(s, Options{})
	}
}

func BenchmarkSearch(b *testing.B) {
	benchmarkSearch(b, New(mustLoad(b, generated(1600)), Options{}))
}

func benchmarkSearch(b *testing.B, x *Index) {
	b.Helper()
	b.Run("one by one", func(b *testing.B) {
		b.ReportAllocs()
		var took []time.Duration
		for i := 0; b.Loop(); i++ {
			start := time.Now()
			_ = x.Search(questions[i%len(questions)], 0).Text()
			took = append(took, time.Since(start))
		}
		slices.Sort(took)
		b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
		b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
	})
	b.Run("parallel", func(b *testing.B) {
		b.RunParallel(func(pb *testing.PB) {
			for i := 0; pb.Next(); i++ {
				_ = x.Search(questions[i%len(questions)], 0).Text()
			}
		})
	})
}

// BenchmarkShared measures the schemas of the long check, where there are any:
// from the bytes to an index, and searches on it.
func BenchmarkShared(b *testing.B) {
	if sharedSchemas() == "" {
		return
	}
	for _, name := range []string{"github.introspection", "shopify-admin"} {
		text := sharedText(b, name)
		b.Run(name+"/load", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s, err := graphql.Load(text, name, graphql.Options{})
				if err != nil {
					b.Fatal(err)
				}
				New(s, Options{})
			}
		})
		s, err := graphql.Load(text, name, graphql.Options{})
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name+"/search", func(b *testing.B) { benchmarkSearch(b, New(s, Options{})) })
	}
}
