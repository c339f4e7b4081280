package schemasearch

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/docseek/docseek/graphql"
)

// bank is a small API with what real ones have: Relay's Node, connections, a
// union, an interface, mutations with inputs, payloads, and deprecations.
const bank = `
schema { query: QueryRoot mutation: Mutation }

"Marks a query with the language of its texts."
directive @inContext(lang: Language, channel: Channel = WEB) on QUERY | FIELD

type QueryRoot {
  node(id: ID!): Node
  nodes(ids: [ID!]!): [Node]!
  "The account holder who asks."
  viewer: User!
  "One account."
  account(id: ID!): Account
  accounts(first: Int = 10, after: String, filter: AccountFilter): AccountConnection!
  "Searches everything."
  search(term: String!, first: Int): [SearchResult!]!
  statement(accountId: ID!, period: PeriodInput!): Statement
  event(id: ID!): Event
}

type Mutation {
  "Makes an invoice and sends it."
  createInvoice(input: CreateInvoiceInput!): CreateInvoicePayload
  "Closes an account for good."
  closeAccount(id: ID!, reason: CloseReason!): CloseAccountPayload
}

interface Node { id: ID! }

type User implements Node {
  id: ID!
  "How the bank writes to the user."
  emailAddress: String
  accounts: AccountConnection!
  legacyPhone: String @deprecated(reason: "use phoneNumber")
  phoneNumber: String
}

type AccountConnection { edges: [AccountEdge!]! nodes: [Account!]! pageInfo: PageInfo! }
type AccountEdge { cursor: String! node: Account! }
type PageInfo { hasNextPage: Boolean! endCursor: String }

"A bank account."
type Account implements Node {
  id: ID!
  "The international number of the account."
  iban: String!
  balance: Money!
  holder: User!
  status: AccountStatus!
  htmlUrl: HTMLUrl
  transactions(where: TransactionWhere): [Transaction!]!
}

scalar HTMLUrl
type Money { amount: String! currency: String! }

enum AccountStatus {
  OPEN
  "Nothing can be paid until the holder has proved who they are."
  SUSPENDED
}
enum CloseReason { MOVED_AWAY DISSATISFIED }
enum Language { EN DE }
enum Channel { WEB APP }

input AccountFilter { status: AccountStatus holderName: String }
input PeriodInput { from: String! to: String! calendar: CalendarInput! }
input CalendarInput { name: String! timeZone: String = "UTC" }
input TransactionWhere { and: [TransactionWhere!] or: [TransactionWhere!] minimumAmount: Int }
input CreateInvoiceInput { accountId: ID! lines: [InvoiceLineInput!]! dueDate: String notes: String }
input InvoiceLineInput { title: String! amount: String! discount: DiscountInput }
input DiscountInput { percentage: Float! }

type Transaction implements Node { id: ID! counterparty: Counterparty bookedAt: String }
union Counterparty = Merchant | User
type Merchant { name: String! categoryCode: String }

union SearchResult = Account | Merchant | Branch
type Branch { city: String! openingHours: String }

type Statement { pdf: String pages: Int }
type CreateInvoicePayload { invoice: Invoice rejection: String }
type Invoice implements Node { id: ID! dueDate: String paymentReference: String }
type CloseAccountPayload { account: Account }

interface Event { id: ID! occurredAt: String }
type LoginEvent implements Event { id: ID! occurredAt: String deviceFingerprint: String }
type PaymentEvent implements Event { id: ID! occurredAt: String riskScore: Int }
type Orphan implements Node { id: ID! lonelyValue: Int }
`

func mustLoad(tb testing.TB, sdl string) *graphql.Schema {
	tb.Helper()
	s, err := graphql.Load([]byte(sdl), "test", graphql.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// generated is a schema of n object types that refer to each other, each with a
// connection, an input, a payload and mutations, and texts of a few words.
func generated(n int) string {
	nouns := strings.Fields("account address agent article asset batch branch budget campaign card cart catalog channel charge claim comment company contact contract country coupon course customer delivery deposit device discount document domain employee event file fund group image invoice item job label ledger license limit line location member menu message metric note notice offer order page parcel partner payment period permit person plan policy price product profile project quote rate reason receipt record refund region report request return review reward role route rule sale schedule score section segment service session shift signal site source stage staff status stock store subscription supplier survey tag task tax team template tenant ticket token topic transfer trip unit user vehicle vendor version visit voucher warehouse webhook zone")
	adjectives := strings.Fields("active billing default external final gross internal latest local net open paid pending primary public shipping total verified")
	title := func(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
	typeName := func(i int) string {
		name := title(nouns[i%len(nouns)])
		if k := i / len(nouns); k > 0 {
			name = title(adjectives[k%len(adjectives)]) + name
		}
		if k := i / len(nouns) / len(adjectives); k > 0 {
			name += strconv.Itoa(k)
		}
		return name
	}
	var b, query, mutation strings.Builder
	b.WriteString("interface Node { id: ID! }\ntype PageInfo { hasNextPage: Boolean! endCursor: String }\nscalar DateTime\n")
	for i := range n {
		name := typeName(i)
		field := strings.ToLower(name[:1]) + name[1:]
		fmt.Fprintf(&b, "\"\"\"\nThe %s of the company, with its %s and %s.\n\"\"\"\ntype %s implements Node {\n  id: ID!\n  createdAt: DateTime!\n",
			nouns[i%len(nouns)], nouns[(i+7)%len(nouns)], nouns[(i*3+1)%len(nouns)], name)
		for k := range 6 {
			fmt.Fprintf(&b, "  \"The %s %s, as %s know it.\"\n  %s%s: String\n", adjectives[(i+k)%len(adjectives)], nouns[(i+k*5)%len(nouns)], nouns[(i+k*11)%len(nouns)],
				adjectives[(i+k)%len(adjectives)], title(nouns[(i+k*5)%len(nouns)]))
		}
		for k := range 2 {
			to := typeName((i*7 + k*13 + 1) % n)
			fmt.Fprintf(&b, "  \"All of what belongs to it.\"\n  related%s(first: Int, after: String, query: String): %sConnection!\n", to, to)
		}
		fmt.Fprintf(&b, "  state: %sState!\n}\ntype %sConnection { nodes: [%s!]! pageInfo: PageInfo! totalCount: Int! }\n", name, name, name)
		fmt.Fprintf(&b, "enum %sState { OPEN CLOSED %s_%s }\n", name, strings.ToUpper(adjectives[i%len(adjectives)]), strings.ToUpper(nouns[(i+3)%len(nouns)]))
		fmt.Fprintf(&b, "input %sInput { \"What it is called.\" name: String! state: %sState parent: %sInput tags: [String!] = [] }\n", name, name, typeName((i+1)%n))
		fmt.Fprintf(&b, "type %sPayload { %s: %s userErrors: [String!]! }\n", name, field, name)
		if i%6 == 0 {
			fmt.Fprintf(&query, "  \"One %s.\"\n  %s(id: ID!): %s\n  \"All of them.\"\n  all%s(first: Int, after: String): %sConnection!\n", nouns[i%len(nouns)], field, name, name, name)
		}
		for _, verb := range []string{"create", "update", "delete"}[:1+i%3] {
			fmt.Fprintf(&mutation, "  \"To %s the %s.\"\n  %s%s(input: %sInput!): %sPayload\n", verb, nouns[i%len(nouns)], verb, name, name, name)
		}
	}
	return b.String() + "type Query {\n  node(id: ID!): Node\n" + query.String() + "}\ntype Mutation {\n" + mutation.String() + "}\n"
}
