package operations_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/docseek/docseek/graphql/operations"
)

func BenchmarkLoadFile(b *testing.B) {
	o := shopOptions()
	o.Schema = schema(b, shopSchema)
	for b.Loop() {
		if set := loadOrder(o, orderFile); len(set.Faults) > 0 {
			b.Fatal(told(set.Faults))
		}
	}
}

// A call of an operation file, without the network: an answer of some 50 kB.
func BenchmarkCall(b *testing.B) {
	lines := make([]string, 1000)
	for i := range lines {
		lines[i] = fmt.Sprintf(`{"title":"Ink, number %d","price":%d.50}`, i, i)
	}
	answer := `{"order":{"number":"A1","customer":{"name":"Ada"},"lines":{"nodes":[` + strings.Join(lines, ",") + `]}}}`
	o := shopOptions()
	set := loadOrder(o, strings.Replace(orderFile, "auth_profile: shop\n", "", 1))
	if len(set.Published()) != 1 {
		b.Fatal(told(set.Faults))
	}
	r, err := operations.NewRunner(operations.RunnerOptions{Caller: given(answer), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(answer)))
	for b.Loop() {
		result, err := r.Call(b.Context(), set.Operations[0], json.RawMessage(`{"number":"A1","lines":1000}`), nil)
		if err != nil || result.Failed() {
			b.Fatal(err, result.Errors)
		}
	}
}
