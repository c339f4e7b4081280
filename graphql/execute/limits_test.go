package execute_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/docseek/docseek/graphql/execute"
)

func aliases(n int) string {
	var b strings.Builder
	b.WriteString("{ accounts {")
	for i := range n {
		fmt.Fprintf(&b, " a%d: id", i)
	}
	b.WriteString(" } }")
	return b.String()
}

func nested(n int) string {
	return `{ accounts { ` + strings.Repeat("friends { ", n) + "id" + strings.Repeat(" }", n) + ` } }`
}

// bomb is fragments of which each spreads the next twice.
func bomb(n int) string {
	var b strings.Builder
	b.WriteString("{ accounts { ...F0 } }")
	for i := range n {
		fmt.Fprintf(&b, " fragment F%d on Account { ...F%d ...F%d }", i, i+1, i+1)
	}
	fmt.Fprintf(&b, " fragment F%d on Account { id }", n)
	return b.String()
}

// circles is fragments of which each spreads the next three.
func circles(n int) string {
	var b strings.Builder
	b.WriteString("{ accounts { ...F0 } }")
	for i := range n {
		fmt.Fprintf(&b, " fragment F%d on Account { ...F%d ...F%d ...F%d }", i, (i+1)%n, (i+2)%n, (i+3)%n)
	}
	return b.String()
}

// spreads spreads one fragment, and in it another many times.
func spreads(n int) string {
	return "{ accounts { ...A } } fragment A on Account {" + strings.Repeat(" ...B", n) + " } fragment B on Account { id }"
}

func TestLimits(t *testing.T) {
	for name, tc := range map[string]struct {
		document string
		want     string // of the fault; "" for within the limits
	}{
		"aliases":              {aliases(30), ""},
		"too many aliases":     {aliases(31), "31 aliases"},
		"far too many aliases": {aliases(10_000), "token limit of 10000"},
		"deep":                 {nested(13), ""},
		"too deep":             {nested(14), "16 levels of fields"},
		"far too deep":         {nested(5000), "nesting depth"},
		"fragments that grow":  {bomb(70), "fields, fragments included"},
		"deep by fragments": {
			`{ accounts { ...A } } fragment A on Account { friends { friends { friends { friends { friends { ...B } } } } } } ` +
				`fragment B on Account { friends { friends { friends { friends { friends { ...C } } } } } } fragment C on Account { friends { friends { friends { friends { id } } } } }`,
			"16 levels of fields",
		},
		"aliases in a fragment count each time": {
			`{ a: accounts { ...F } b: accounts { ...F } } fragment F on Account {` + strings.Repeat(" x: id", 15) + `}`, "32 aliases",
		},
		"fields":                                   {"{ accounts {" + strings.Repeat(" id", 1999) + " } }", ""},
		"too many fields":                          {"{ accounts {" + strings.Repeat(" id", 2000) + " } }", "2001 fields"},
		"fields of a fragment that is not used":    {"{ accounts { id } } fragment F on Account {" + strings.Repeat(" id", 9000) + " }", `Fragment "F" is never used`},
		"fields of a fragment that is there twice": {"{ accounts { ...F } } fragment F on Account { id } fragment F on Account {" + strings.Repeat(" id", 9000) + " }", `only one fragment named "F"`},
		"fields of many operations":                {strings.Repeat("query A { accounts { ...F } } ", 50) + "fragment F on Account {" + strings.Repeat(" id", 100) + " }", "2020 fields"},
		"circles of many":                          {circles(700), `Cannot spread fragment "F0" within itself`},
		"spreads":                                  {spreads(199), ""},
		"too many spreads":                         {spreads(1600), "1601 spreads of fragments"},
		"directives":                               {`{ accounts { id` + strings.Repeat(" @include(if: true)", 101) + ` } }`, "101 directives"},
		"text":                                     {"{ accounts { id } } #" + strings.Repeat("x", 256<<10), "at most 262144 are allowed"},
		"not UTF-8":                                {"{ accounts { id } } # \xff", "not valid UTF-8"},
		"empty":                                    {" \n", "holds no operation"},
		"fragments alone":                          {"fragment F on Account { id }", "holds no operation"},
		"circle":                                   {`{ accounts { ...A } } fragment A on Account { ...B } fragment B on Account { ...A }`, "itself"},
		"a real one": {
			`query Q($w: Where, $n: Int = 20) { accounts(where: $w, first: $n) { id iban balance owner { id name email } friends(first: 3) { id owner { name } } } }`, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			u := serve(t, reply(200, `{"data":{}}`))
			e := executor(t, u.URL, nil)
			answer, err := e.Execute(t.Context(), load(t, schemaText), execute.Query{Document: tc.document})
			if err != nil {
				t.Fatal(err)
			}
			if tc.want == "" {
				if answer.Failed() || len(u.requests()) != 1 {
					t.Errorf("answer %+v", answer)
				}
				return
			}
			if !answer.Failed() || !strings.Contains(fmt.Sprint(answer.Errors), tc.want) {
				t.Errorf("errors %v, want %q", answer.Errors, tc.want)
			}
			if len(u.requests()) > 0 {
				t.Error("refused, but sent")
			}
			if v := e.Validate(load(t, schemaText), tc.document); v.Valid {
				t.Error("validation says it is valid")
			}
		})
	}
}

func TestLimitOfARequest(t *testing.T) {
	u := serve(t, reply(200, `{"data":{}}`))
	q := execute.Query{Document: `query($j: JSON) { echo(json: $j) }`, Variables: json.RawMessage(`{"j":"` + strings.Repeat("x", 1<<20) + `"}`)}
	_, err := executor(t, u.URL, nil).Execute(t.Context(), load(t, schemaText), q)
	asError(t, err, execute.Refused, "at most 1048576 are allowed")
	if len(u.requests()) > 0 {
		t.Error("refused, but sent")
	}
}
