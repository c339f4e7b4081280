package execute

import (
	"testing"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func mustLoad(tb testing.TB, text string) *ast.Schema {
	tb.Helper()
	schema, err := gqlparser.LoadSchema(&ast.Source{Input: text})
	if err != nil {
		tb.Fatal(err)
	}
	return schema
}
