package schemasearch

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"
)

func TestInspect(t *testing.T) {
	x := New(mustLoad(t, bank), Options{})
	tests := []struct {
		name, want string
	}{
		{"Money", "type Money {\n  amount: String!\n  currency: String!\n}\n"},
		{" Money ", "type Money {\n  amount: String!\n  currency: String!\n}\n"},
		{"[Money!]!", "type Money {\n  amount: String!\n  currency: String!\n}\n"},
		{"CloseReason", "enum CloseReason {\n  MOVED_AWAY\n  DISSATISFIED\n}\n"},
		{"Counterparty", "union Counterparty = Merchant | User\n"},
		{"HTMLUrl", "scalar HTMLUrl\n"},
		{"@inContext", "\"Marks a query with the language of its texts.\"\ndirective @inContext(lang: Language, channel: Channel = WEB) on QUERY | FIELD\n"},
		{"Language", "enum Language {\n  EN\n  DE\n}\n"},
		{"Query", "type QueryRoot {\n"},
		{"QueryRoot.statement", "type QueryRoot {\n  statement(accountId: ID!, period: PeriodInput!): Statement\n}\ninput PeriodInput {\n  from: String!\n  to: String!\n  calendar: CalendarInput!\n}\ninput CalendarInput {\n  name: String!\n  timeZone: String = \"UTC\"\n}\n"},
		{"Query.viewer", "type QueryRoot {\n  \"The account holder who asks.\"\n  viewer: User!\n}\n"},
		{"Account", "\"A bank account.\"\ntype Account implements Node {\n  id: ID!\n  \"The international number of the account.\"\n  iban: String!\n"},
	}
	for _, test := range tests {
		i := x.Inspect([]string{test.name}, 0)
		if !strings.HasPrefix(i.SDL, test.want) || len(i.Unknown) > 0 || len(i.Shortened) > 0 || i.Text() != i.SDL {
			t.Errorf("%s is %+v, want\n%s", test.name, i, test.want)
		}
	}
}

func TestInspectUnknown(t *testing.T) {
	x := New(mustLoad(t, "type Query { order: Order line: OrderLine } type Order { number: Int } type OrderLine { orderedAmount: Int } directive @inContext on QUERY"), Options{})
	tests := []struct {
		name    string
		nearest []string
	}{
		{"Ordr", []string{"Order", "OrderLine"}},
		{"order", []string{"Order", "OrderLine"}},
		{"Oredr", []string{"Order"}},
		{"Order.nmber", []string{"Order.number"}},
		{"OrderLine.amount", []string{"OrderLine.orderedAmount"}},
		{"@inContxt", []string{"@inContext"}},
		{"__Schema", []string{}},
		{"Zeppelin", []string{}},
		{"Mutation", []string{}},
	}
	for _, test := range tests {
		i := x.Inspect([]string{test.name}, 0)
		if len(i.Unknown) != 1 || i.SDL != "" || !slices.Equal(i.Unknown[0].Nearest, test.nearest) {
			t.Errorf("%s: %+v, want %q", test.name, i, test.nearest)
			continue
		}
		want := fmt.Sprintf("# unknown type %q", test.name)
		if len(test.nearest) > 0 {
			want += "; nearest: " + strings.Join(test.nearest, ", ")
		}
		if i.Text() != want+"\n" {
			t.Errorf("%s: the text is %q", test.name, i.Text())
		}
	}
}

// Whatever the size, the text is within it, parses, and says what is missing.
func TestInspectSizes(t *testing.T) {
	x := New(mustLoad(t, bank), Options{})
	names := []string{"QueryRoot", "Account", "SearchResult", "@inContext", "Mutation.createInvoice", "Acount", "AccountStatus", ""}
	for size := 1; size < 3000; size += 7 {
		i := x.Inspect(names, size)
		text := i.Text()
		if n := utf8.RuneCountInString(text); n > size {
			t.Fatalf("%d characters where %d are allowed:\n%s", n, size, text)
		}
		if _, err := parser.ParseSchema(&ast.Source{Input: i.SDL}); err != nil {
			t.Fatalf("in %d: %v\n%s", size, err, i.SDL)
		}
		if size >= 300 && len(i.Shortened) > 0 && !strings.HasSuffix(text, "raise max_chars, or inspect one name at a time\n") {
			t.Fatalf("in %d: what is shortened is cut off:\n%s", size, text)
		}
		for _, name := range []string{"QueryRoot", "Account"} {
			if whole := strings.Contains(i.SDL, "event(id: ID!): Event") && name == "QueryRoot" || strings.Contains(i.SDL, "TransactionWhere): [Transaction!]!") && name == "Account"; !whole && !slices.Contains(i.Shortened, name) {
				t.Fatalf("in %d: %s is shortened, which is not said:\n%s", size, name, text)
			}
		}
	}
}

func TestDistance(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"order", "ordr", 1}, {"order", "oredr", 1}, {"kitten", "sitting", 3}, {"abc", "abc", 0}} {
		if got := distance(test.a, test.b); got != test.want || distance(test.b, test.a) != got {
			t.Errorf("%s and %s: %d, want %d", test.a, test.b, got, test.want)
		}
	}
}

// Types that only a directive or a subscription uses are known.
func TestInspectWhatNoQueryUses(t *testing.T) {
	x := New(mustLoad(t, "type Query { a: Int } type Subscription { ticks: Tick } type Tick { bid: Float } directive @d(e: E) on FIELD enum E { A }"), Options{})
	for name, want := range map[string]string{"Query": "type Query {\n  a: Int\n}\n", "E": "enum E {\n  A\n}\n", "Tick": "type Tick {\n  bid: Float\n}\n", "Subscription": "type Subscription {\n  ticks: Tick\n}\n"} {
		if got := x.Inspect([]string{name}, 0).Text(); got != want {
			t.Errorf("%s is\n%s", name, got)
		}
	}
}
