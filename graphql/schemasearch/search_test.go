package schemasearch

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"
	"github.com/vektah/gqlparser/v2/validator/rules"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// check tells what every answer has to be: within its size, SDL that parses, and
// enough to ask for each of its paths.
func check(t *testing.T, x *Index, a Answer, size int) {
	t.Helper()
	text := a.Text()
	if n := utf8.RuneCountInString(text); n > size {
		t.Errorf("%d characters where %d are allowed:\n%s", n, size, text)
	}
	if _, err := parser.ParseSchema(&ast.Source{Input: text}); err != nil && len(a.Paths) > 0 {
		t.Errorf("the answer does not parse: %v\n%s", err, text)
	}
	for _, p := range a.Paths {
		for _, from := range []string{text, a.SDL} {
			asked, err := document(from, p.Path)
			if err != nil {
				t.Errorf("%s: %v\n%s", p.Path, err, from)
				return
			}
			if _, errs := gqlparser.LoadQueryWithRules(x.schema.AST(), asked, rules.NewDefaultRules()); errs != nil {
				t.Errorf("%s: %v\n%s\n%s", p.Path, errs, asked, from)
				return
			}
		}
	}
}

func paths(a Answer) []string {
	var all []string
	for _, p := range a.Paths {
		all = append(all, p.Path)
	}
	return all
}

func TestSearch(t *testing.T) {
	x := New(mustLoad(t, bank), Options{})
	tests := []struct {
		terms []string
		path  string // of the best
		has   string // in the SDL
	}{
		{[]string{"IBAN"}, "QueryRoot.account.iban", "iban: String!"},
		{[]string{"iban"}, "QueryRoot.account.iban", ""},
		{[]string{"ibans"}, "QueryRoot.account.iban", ""},
		{[]string{"balanec"}, "QueryRoot.account.balance", ""},
		{[]string{"user email"}, "QueryRoot.viewer.emailAddress", ""},
		{[]string{"user", "email"}, "QueryRoot.viewer.emailAddress", ""},
		{[]string{"emailaddress"}, "QueryRoot.viewer.emailAddress", ""},
		{[]string{"User.emailAddress"}, "QueryRoot.viewer.emailAddress", ""},
		{[]string{"html url"}, "QueryRoot.account.htmlUrl", ""},
		{[]string{"open accounts"}, "QueryRoot.accounts", "input AccountFilter {\n  status: AccountStatus\n  holderName: String\n}"},
		{[]string{"accounts of a user"}, "QueryRoot.viewer.accounts", ""},
		{[]string{"create", "invoice"}, "Mutation.createInvoice", "input DiscountInput {\n  percentage: Float!\n}"},
		{[]string{"statement period"}, "QueryRoot.statement", "input CalendarInput {\n  name: String!\n"},
		{[]string{"category of a merchant"}, "QueryRoot.search.<Merchant>.categoryCode", "union SearchResult = Account | Merchant | Branch\n"},
		{[]string{"opening hours"}, "QueryRoot.search.<Branch>.openingHours", ""},
		{[]string{"counterparty"}, "QueryRoot.account.transactions.counterparty", "union Counterparty = Merchant | User\n"},
		{[]string{"device fingerprint"}, "QueryRoot.event.<LoginEvent>.deviceFingerprint", "type LoginEvent implements Event {"},
		{[]string{"risk score"}, "QueryRoot.event.<PaymentEvent>.riskScore", "interface Event"},
		{[]string{"payment reference"}, "Mutation.createInvoice.invoice.paymentReference", "type CreateInvoicePayload {"},
		{[]string{"phone"}, "QueryRoot.viewer.phoneNumber", `legacyPhone: String @deprecated(reason: "use phoneNumber")`},
		{[]string{"lonely value"}, "QueryRoot.node.<Orphan>.lonelyValue", "type Orphan implements Node {"},
		{[]string{"timezone"}, "QueryRoot.statement", "timeZone: String = \"UTC\""},
		{[]string{"suspended"}, "QueryRoot.accounts", "enum AccountStatus {\n  \"Nothing can be paid until the holder has proved who they are.\"\n  SUSPENDED\n"},
		{[]string{"dissatisfied"}, "Mutation.closeAccount", "enum CloseReason {\n"},
		{[]string{"minimum amount"}, "QueryRoot.account.transactions", "input TransactionWhere {"},
	}
	for _, test := range tests {
		t.Run(strings.Join(test.terms, ","), func(t *testing.T) {
			a := x.Search(test.terms, 0)
			if len(a.Paths) == 0 || a.Paths[0].Path != test.path {
				t.Fatalf("the paths are %q, want %s first\n%s", paths(a), test.path, a.Text())
			}
			if !strings.Contains(a.SDL, test.has) {
				t.Errorf("the SDL lacks %q:\n%s", test.has, a.SDL)
			}
			check(t, x, a, DefaultMaxChars)
			for _, size := range []int{10, 60, 120, 200, 300, 500, 800, 1500} {
				check(t, x, x.Search(test.terms, size), size)
			}
		})
	}
}

func TestMatches(t *testing.T) {
	x := New(mustLoad(t, bank), Options{})
	a := x.Search([]string{"invoice due date discount percentage"}, 0)
	i := slices.IndexFunc(a.Paths, func(p Path) bool { return p.Path == "Mutation.createInvoice" })
	if i < 0 || !slices.Contains(a.Paths[i].Matches, "CreateInvoiceInput.dueDate") {
		t.Fatalf("the paths are %+v", a.Paths)
	}
	if !strings.Contains(a.Text(), "# Mutation.createInvoice (CreateInvoiceInput.dueDate") {
		t.Errorf("the text does not say what matched:\n%s", a.Text())
	}
	seen := map[string]bool{}
	for _, p := range a.Paths {
		if seen[p.Path] {
			t.Errorf("%s comes twice", p.Path)
		}
		seen[p.Path] = true
	}
}

// A type that refers to itself is printed once.
func TestRecursiveInput(t *testing.T) {
	a := New(mustLoad(t, bank), Options{}).Search([]string{"transactions"}, 0)
	if n := strings.Count(a.SDL, "input TransactionWhere {"); n != 1 {
		t.Errorf("it is printed %d times:\n%s", n, a.SDL)
	}
}

func TestGoldenAnswers(t *testing.T) {
	x := New(mustLoad(t, bank), Options{})
	for name, answer := range map[string]string{
		"search_invoice":  x.Search([]string{"create an invoice"}, 0).Text(),
		"search_merchant": x.Search([]string{"merchant", "category"}, 700).Text(),
		"search_account":  x.Search([]string{"account"}, 1500).Text(),
		"search_nothing":  x.Search([]string{"zeppelin"}, 0).Text(),
		"inspect":         x.Inspect([]string{"Account", "@inContext", "Query.statement", "Acount", "Channel"}, 0).Text(),
		"inspect_short":   x.Inspect([]string{"Account", "QueryRoot"}, 500).Text(),
	} {
		path := filepath.Join("testdata", name+".graphql")
		if *update {
			if err := os.WriteFile(path, []byte(answer), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if answer != string(want) {
			t.Errorf("%s is\n%s\nwant\n%s", name, answer, want)
		}
	}
}

func TestSameAnswerEveryTime(t *testing.T) {
	want := New(mustLoad(t, bank), Options{}).Search([]string{"account holder"}, 3000).Text()
	for range 20 {
		x := New(mustLoad(t, bank), Options{})
		for range 5 {
			if got := x.Search([]string{"account holder"}, 3000).Text(); got != want {
				t.Fatalf("it is\n%s\nand was\n%s", got, want)
			}
		}
	}
}

func TestUnusableTerms(t *testing.T) {
	x := New(mustLoad(t, bank), Options{})
	for _, test := range []struct {
		terms []string
		hint  string
	}{
		{nil, "no usable terms: give words"},
		{[]string{}, "no usable terms: give words"},
		{[]string{""}, "no usable terms: give words"},
		{[]string{"*("}, "no usable terms: give words"},
		{[]string{"the", "of a"}, "no usable terms: they are too common"},
		{[]string{"zeppelin"}, "no usable terms: the schema knows none"},
		{[]string{"\x00\xff"}, "no usable terms"},
	} {
		a := x.Search(test.terms, 0)
		if !strings.HasPrefix(a.Hint, test.hint) || len(a.Paths) != 0 || a.SDL != "" || a.Omitted.Count != 0 {
			t.Errorf("%q: the answer is %+v", test.terms, a)
		}
		if a.Text() != "# "+a.Hint+"\n" {
			t.Errorf("%q: the text is %q", test.terms, a.Text())
		}
	}
}

func TestOmitted(t *testing.T) {
	var b strings.Builder
	b.WriteString("type Query {\n")
	for i := range 40 {
		fmt.Fprintf(&b, "  widget%c%c: Widget%c%c\n", 'A'+i/26, 'a'+i%26, 'A'+i/26, 'a'+i%26)
	}
	b.WriteString("}\n")
	for i := range 40 {
		fmt.Fprintf(&b, "type Widget%c%c { size: Int }\n", 'A'+i/26, 'a'+i%26)
	}
	x := New(mustLoad(t, b.String()), Options{})
	a := x.Search([]string{"widget"}, 1000)
	check(t, x, a, 1000)
	if len(a.Paths) < 5 || a.Omitted.Count == 0 || len(a.Omitted.Examples) == 0 {
		t.Fatalf("the answer has %d paths and %+v", len(a.Paths), a.Omitted)
	}
	want := fmt.Sprintf("# %d more, e.g. %s; raise max_chars or narrow the terms\n", a.Omitted.Count, strings.Join(a.Omitted.Examples, ", "))
	if !strings.HasSuffix(a.Text(), want) {
		t.Errorf("it ends in %q, want %q", a.Text()[len(a.Text())-100:], want)
	}
	for _, example := range a.Omitted.Examples {
		if slices.Contains(paths(a), example) {
			t.Errorf("%s is shown and left out", example)
		}
	}
	all := x.Search([]string{"widget"}, 100000)
	if len(all.Paths)+all.Omitted.Count != len(a.Paths)+a.Omitted.Count {
		t.Errorf("%d and %d hits, or %d and %d", len(a.Paths), a.Omitted.Count, len(all.Paths), all.Omitted.Count)
	}
}

func TestTooSmall(t *testing.T) {
	x := New(mustLoad(t, bank), Options{})
	for size := 1; size < 120; size++ {
		a := x.Search([]string{"iban"}, size)
		check(t, x, a, size)
		if len(a.Paths) == 0 && !strings.Contains(a.Hint, fmt.Sprintf("max_chars %d is too small for the best hit, QueryRoot.account.iban", size)) {
			t.Errorf("in %d characters: %+v", size, a)
		}
	}
	if a := x.Search([]string{"iban"}, 200); len(a.Paths) == 0 || a.Paths[0].Path != "QueryRoot.account.iban" {
		t.Errorf("in 200 characters: %+v", a)
	}
}

// The field that is asked for is found among hundreds of others.
func TestLargeRoot(t *testing.T) {
	var b strings.Builder
	b.WriteString("type Query {\n")
	for i := range 500 {
		fmt.Fprintf(&b, "  \"Fetches a record.\"\n  service%d_recordById(id: ID!): Record\n", i)
	}
	b.WriteString("  slack_userByEmail(email: String!): Record\n}\ntype Record { id: ID! user: String email: String }\n")
	x := New(mustLoad(t, b.String()), Options{})
	a := x.Search([]string{"slack", "email"}, 0)
	if len(a.Paths) == 0 || a.Paths[0].Path != "Query.slack_userByEmail" {
		t.Errorf("the paths are %q", paths(a))
	}
	check(t, x, a, DefaultMaxChars)
}

func TestMutations(t *testing.T) {
	s := mustLoad(t, bank)
	marked := New(s, Options{Mutations: MutationsMarked}).Search([]string{"create", "invoice"}, 0)
	if marked.Paths[0].Path != "Mutation.createInvoice" || !marked.Paths[0].NotExecutable ||
		!strings.HasPrefix(marked.Text(), "# Mutation.createInvoice - not executable here\n") {
		t.Errorf("marked, it is\n%s", marked.Text())
	}
	if query := New(s, Options{Mutations: MutationsMarked}).Search([]string{"iban"}, 0); query.Paths[0].NotExecutable {
		t.Error("a query is marked")
	}
	hidden := New(s, Options{Mutations: MutationsHidden}).Search([]string{"create", "invoice", "due date"}, 0)
	for _, p := range hidden.Paths {
		if strings.HasPrefix(p.Path, "Mutation") {
			t.Errorf("hidden, there is %s", p.Path)
		}
	}
	if strings.Contains(hidden.Text(), "createInvoice") {
		t.Errorf("hidden, it is\n%s", hidden.Text())
	}
}

func TestPaths(t *testing.T) {
	tests := []struct{ name, schema, terms, path string }{
		{
			"a root that leads to itself",
			"type Query { query: Query! a: A } type A { b: B } type B { a: A x: Int }",
			"x", "Query.a.b.x",
		},
		{
			"not by way of node",
			"type Query { node(id: ID!): Node repository(name: String!): Repository } interface Node { id: ID! } " +
				"type Repository implements Node { id: ID! pullRequest(number: Int!): PullRequest } " +
				"type PullRequest implements Node { id: ID! reviewThreads: [Thread!]! } type Thread implements Node { id: ID! }",
			"review threads", "Query.repository.pullRequest.reviewThreads",
		},
		{
			"a query, though a mutation is shorter",
			"type Query { a: A } type A { b: B } type B { c: C } type C { suite: Suite } type Suite { conclusion: String } " +
				"type Mutation { createSuite: Payload } type Payload { suite: Suite }",
			"suite conclusion", "Query.a.b.c.suite.conclusion",
		},
		{
			"only a mutation leads there",
			"type Query { a: Int } type Mutation { pay: Payment } type Payment { receiptCode: String }",
			"receipt code", "Mutation.pay.receiptCode",
		},
		{
			"only a subscription",
			"type Subscription { ticks: Tick } type Tick { bid: Float }",
			"bid", "Subscription.ticks.bid",
		},
		{
			"a field, though a union is shorter",
			"type Query { search: [U!]! shop: Shop } union U = P | Q | R | S type Shop { first: P } type P { price: Int } type Q { q: Int } type R { r: Int } type S { s: Int }",
			"price", "Query.shop.first.price",
		},
		{
			"not by way of what is deprecated",
			"type Query { old: Old } type Old { legacy: P @deprecated a: A } type A { b: P } type P { price: Int }",
			"price", "Query.old.a.b.price",
		},
		{
			"without arguments that have to be given",
			"type Query { a(id: ID!): P z: P } type P { price: Int }",
			"price", "Query.z.price",
		},
		{
			"renamed roots",
			"schema { query: Q mutation: M } type Q { a: Int } type M { payBill: Int }",
			"pay bill", "M.payBill",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			x := New(mustLoad(t, test.schema), Options{})
			a := x.Search([]string{test.terms}, 0)
			if len(a.Paths) == 0 || a.Paths[0].Path != test.path {
				t.Fatalf("the paths are %q, want %s", paths(a), test.path)
			}
			if want := strings.Count(strings.ReplaceAll(test.path, ".<", "<"), "."); a.Paths[0].Depth != want {
				t.Errorf("the depth is %d, want %d", a.Paths[0].Depth, want)
			}
			if !strings.HasPrefix(test.path, "Subscription") {
				check(t, x, a, DefaultMaxChars)
			}
		})
	}
}

// A query with the words of a generated field finds it among thousands.
func TestGeneratedSchema(t *testing.T) {
	s := mustLoad(t, generated(600))
	x := New(s, Options{})
	for _, name := range []string{"Account", "Webhook", "BillingInvoice", "DefaultTicket"} {
		def := s.Type(name)
		field := def.Fields[4]
		a := x.Search([]string{strings.Join(identifierWords(name), " "), strings.Join(identifierWords(field.Name), " ")}, 0)
		if i := slices.IndexFunc(a.Paths, func(p Path) bool { return target(s, p.Path) == name+"."+field.Name }); i < 0 || i > 4 {
			t.Errorf("%s.%s is number %d of %q", name, field.Name, i, paths(a))
		}
		for _, size := range []int{150, 1000, 10000, 50000} {
			check(t, x, x.Search([]string{name, field.Name}, size), size)
		}
	}
}

func TestDamping(t *testing.T) {
	s := mustLoad(t, "type Query { a: A } type A { b: B price: Int } type B { c: C } type C { price: Int }")
	for damping, want := range map[Damping][]float64{DampNone: {1, 1}, DampShifted: {1.0 / 4, 1.0 / 6}, DampDepth: {1.0 / 2, 1.0 / 4}} {
		a := New(s, Options{Damping: damping}).Search([]string{"price"}, 0)
		if len(a.Paths) != 2 {
			t.Fatalf("%s: the paths are %q", damping, paths(a))
		}
		if got := a.Paths[0].Score / a.Paths[1].Score; got < want[0]/want[1]*0.99 || got > want[0]/want[1]*1.01 {
			t.Errorf("%s: the scores are %v and %v", damping, a.Paths[0].Score, a.Paths[1].Score)
		}
	}
}

func FuzzSearch(f *testing.F) {
	x := New(mustLoad(f, bank), Options{})
	f.Add("iban", 100)
	f.Add("create invoice", 700)
	f.Add("*(\x00é漢 userByEmail v2 IBANs", 5000)
	f.Fuzz(func(t *testing.T, term string, size int) {
		size = 1 + max(size, -size)%20000
		if size < 1 {
			return
		}
		check(t, x, x.Search([]string{term}, size), size)
		if n := utf8.RuneCountInString(x.Inspect([]string{term, "Account"}, size).Text()); n > size {
			t.Errorf("%d characters where %d are allowed", n, size)
		}
	})
}

// Of an input type that is too large, what fits is shown and the rest counted.
func TestLargeInput(t *testing.T) {
	var b strings.Builder
	b.WriteString("type Query { find(where: Where, id: ID!): Int }\ninput Where {\n")
	for i := range 200 {
		fmt.Fprintf(&b, "  \"A condition.\"\n  condition%d: String\n", i)
	}
	b.WriteString("}\n")
	x := New(mustLoad(t, b.String()), Options{})
	a := x.Search([]string{"find"}, 1500)
	check(t, x, a, 1500)
	shown := strings.Count(a.SDL, "  condition")
	if remark := fmt.Sprintf("  # and %d more; inspect Where\n}", 200-shown); shown < 10 || !strings.Contains(a.SDL, remark) {
		t.Errorf("it lacks %q:\n%s", remark, a.SDL)
	}
	if whole := x.Search([]string{"find"}, 30000); strings.Contains(whole.SDL, "#") || !strings.Contains(whole.SDL, "A condition.") {
		t.Errorf("with enough room it is\n%s", whole.SDL)
	}
}

func TestSubscriptionsAreNotExecutable(t *testing.T) {
	x := New(mustLoad(t, "type Query { price: Int } type Subscription { price: Int ticks: Tick } type Tick { bid: Float }"), Options{})
	a := x.Search([]string{"bid"}, 0)
	if len(a.Paths) != 1 || !a.Paths[0].NotExecutable || !strings.HasPrefix(a.Text(), "# Subscription.ticks.bid - not executable here\n") {
		t.Errorf("it is\n%s", a.Text())
	}
	if a := x.Search([]string{"price"}, 0); a.Paths[0].Path != "Query.price" || a.Paths[0].NotExecutable || !a.Paths[1].NotExecutable {
		t.Errorf("the paths are %+v", a.Paths)
	}
}
