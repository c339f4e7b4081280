package api_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/docseek/docseek/internal/demo/api"
)

func serve(t *testing.T) string {
	t.Helper()
	a, err := api.New()
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	return server.URL
}

func ask(t *testing.T, address, query string, variables map[string]any) (status int, body string) {
	t.Helper()
	text, err := json.Marshal(map[string]any{"query": query, "variables": variables})
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", "application/graphql-response+json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	got, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, strings.TrimSpace(string(got))
}

func TestAnswers(t *testing.T) {
	for name, tc := range map[string]struct {
		query     string
		variables map[string]any
		status    int
		want      string
	}{
		"interface and order": {
			`{ z: node(id: "acc_seller1") { id ... on Account { iban owner { name } } __typename } none: node(id: "x") { id } }`, nil, 200,
			`{"data":{"z":{"id":"acc_seller1","iban":"DE02120300000000202051","owner":{"name":"Harbour Books GmbH"},"__typename":"Account"},"none":null}}`,
		},
		"union and fragments": {
			`query($t: String!) { search(text: $t) { __typename ...P ... on Owner { name } } } fragment P on Payout { id status }`,
			map[string]any{"t": "harbour"},
			200,
			`{"data":{"search":[{"__typename":"Owner","name":"Harbour Books GmbH"},{"__typename":"Payout","id":"pyt_11a","status":"PAID"},{"__typename":"Payout","id":"pyt_13f","status":"SUBMITTED"}]}}`,
		},
		"page": {
			`query($a: String) { account(id: "acc_seller1") { payments(first: 2, after: $a) { totalCount edges { node { id } } pageInfo { hasNextPage endCursor } } } }`,
			map[string]any{"a": "pay_8Xk"},
			200,
			`{"data":{"account":{"payments":{"totalCount":4,"edges":[{"node":{"id":"pay_6Tz"}},{"node":{"id":"pay_5Rv"}}],"pageInfo":{"hasNextPage":true,"endCursor":"pay_5Rv"}}}}}`,
		},
		"filter": {
			`query($f: PaymentFilter) { account(id: "acc_seller1") { payments(filter: $f) { edges { node { id failureCode } } } } }`,
			map[string]any{"f": map[string]any{"minAmount": 30000, "status": "FAILED"}},
			200,
			`{"data":{"account":{"payments":{"edges":[{"node":{"id":"pay_5Rv","failureCode":"insufficient_funds"}}]}}}}`,
		},
		"large numbers": {
			`{ account(id: "acc_seller2") { ledger(first: 1) { sequence amount { minor currency } source { ... on Node { id } } } } }`, nil, 200,
			`{"data":{"account":{"ledger":[{"sequence":9007199254740994,"amount":{"minor":-20000,"currency":"GBP"},"source":{"id":"pyt_12c"}}]}}}`,
		},
		"a field that fails": {
			`{ exchangeRate(from: EUR, to: USD) accounts(currency: GBP) { id } }`, nil, 200,
			`{"data":{"exchangeRate":null,"accounts":[{"id":"acc_seller2"}]},"errors":[{"message":"the source of exchange rates does not answer","path":["exchangeRate"],"locations":[{"line":1,"column":3}]}]}`,
		},
		"null goes up to what may be null": {
			`{ account(id: "acc_seller1") { id payments(first: 0) { totalCount } } }`, nil, 200,
			`{"data":{"account":null},"errors":[{"message":"first must be 1 to 100","path":["account","payments"],"locations":[{"line":1,"column":35}]}]}`,
		},
		"left out": {
			`query($no: Boolean!) { account(id: "acc_seller1") { id @skip(if: true) currency @include(if: $no) restricted } }`,
			map[string]any{"no": false},
			200,
			`{"data":{"account":{"restricted":false}}}`,
		},
		"unknown field": {
			`{ nope }`, nil, 400,
			`{"errors":[{"message":"Cannot query field \"nope\" on type \"Query\". Did you mean \"node\"?","locations":[{"line":1,"column":3}]}]}`,
		},
		"merged fields": {
			`{ account(id: "acc_seller1") { id } account(id: "acc_seller1") { currency } }`, nil, 200,
			`{"data":{"account":{"id":"acc_seller1","currency":"EUR"}}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			status, got := ask(t, serve(t), tc.query, tc.variables)
			if status != tc.status {
				t.Errorf("status %d, want %d", status, tc.status)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMutations(t *testing.T) {
	address := serve(t)
	const create = `mutation($in: CreatePayoutInput!) { createPayout(input: $in) { __typename ... on PayoutCreated { payout { id status rail } } ... on Rejection { code message } } }`
	const cancel = `mutation($id: ID!) { cancelPayout(id: $id) { __typename ... on PayoutCanceled { payout { status account { balances { available { minor } } } } } ... on Rejection { code } } }`
	input := func(account string, amount int) map[string]any {
		return map[string]any{"in": map[string]any{"accountId": account, "amount": amount, "beneficiary": "Harbour Books GmbH"}}
	}
	for _, step := range []struct {
		query     string
		variables map[string]any
		want      string
	}{
		{create, input("acc_seller1", 1_000_000), `{"data":{"createPayout":{"__typename":"InsufficientBalanceRejection","code":"insufficient_balance","message":"acc_seller1 has 284110 available, the payout needs 1000000"}}}`},
		{create, input("acc_seller3", 1), `{"data":{"createPayout":{"__typename":"AccountRestrictedRejection","code":"account_restricted","message":"the owner of acc_seller3 has not passed the identity check"}}}`},
		{create, input("acc_none", 1), `{"data":{"createPayout":{"__typename":"NotFoundRejection","code":"not_found","message":"there is no account acc_none"}}}`},
		{create, input("acc_seller1", 84_110), `{"data":{"createPayout":{"__typename":"PayoutCreated","payout":{"id":"pyt_14","status":"SCHEDULED","rail":"SEPA"}}}}`},
		{cancel, map[string]any{"id": "pyt_14"}, `{"data":{"cancelPayout":{"__typename":"PayoutCanceled","payout":{"status":"CANCELED","account":{"balances":{"available":{"minor":284110}}}}}}}`},
		{cancel, map[string]any{"id": "pyt_14"}, `{"data":{"cancelPayout":{"__typename":"PayoutSubmittedRejection","code":"payout_submitted"}}}`},
	} {
		if _, got := ask(t, address, step.query, step.variables); got != step.want {
			t.Errorf("got  %s\nwant %s", got, step.want)
		}
	}
}

func TestBounds(t *testing.T) {
	address := serve(t)
	wide := "{ accounts { ..." + strings.Repeat(" on Account { owner { accounts { ... ", 14) + " on Account { id }" + strings.Repeat("} } }", 14) + " } }"
	if _, got := ask(t, address, wide, nil); !strings.Contains(got, "reads more than") {
		t.Errorf("an answer of any size: %.200s", got)
	}
	if status, got := ask(t, address, strings.Repeat("{a}", 5000), nil); status != 400 || !strings.Contains(got, "token limit") {
		t.Errorf("status %d: %.200s", status, got)
	}
	response, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("GET: status %d", response.StatusCode)
	}
	response, err = http.Post(address, "application/json", strings.NewReader("[]"))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK || response.Header.Get("Content-Type") != "application/json; charset=utf-8" {
		t.Errorf("to an older client: status %d, %s", response.StatusCode, response.Header.Get("Content-Type"))
	}
}
