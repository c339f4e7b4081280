package api

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
)

// books are the accounts of the platform and what moves on them. The newest
// payment, payout and refund is the last.
type books struct {
	owners   []*owner
	accounts []*account
	payments []*payment
	payouts  []*payout
	refunds  []*refund
}

type owner struct {
	id, name, country string
	verified          bool
}

type account struct {
	id, owner, currency, iban               string
	pending, available, reserved, inTransit int64
}

type payment struct {
	id, account, status, method, failure, at string
	amount                                   int64
}

type payout struct {
	id, account, status, rail, beneficiary, at string
	amount                                     int64
}

type refund struct {
	id, payment, reason, at string
	amount                  int64
}

func newBooks() *books {
	return &books{
		owners: []*owner{
			{"own_2Kd", "Harbour Books GmbH", "DE", true},
			{"own_5Tq", "Marsh & Reed Ltd", "GB", true},
			{"own_8Zw", "Lantern Coffee SARL", "FR", false},
		},
		accounts: []*account{
			{"acc_platform", "own_2Kd", "EUR", "DE89370400440532013000", 0, 9_120_000, 0, 0},
			{"acc_seller1", "own_2Kd", "EUR", "DE02120300000000202051", 18_400, 284_110, 30_000, 120_000},
			{"acc_seller2", "own_5Tq", "GBP", "", 4_300, 61_250, 6_000, 0},
			{"acc_seller3", "own_8Zw", "EUR", "FR1420041010050500013M02606", 12_000, 88_000, 0, 0},
		},
		payments: []*payment{
			{"pay_3Ha", "acc_seller1", "SETTLED", "CARD", "", "2026-11-02T08:30:00Z", 12_900},
			{"pay_4Lm", "acc_seller2", "SETTLED", "CARD", "", "2026-11-03T17:05:00Z", 6_250},
			{"pay_5Rv", "acc_seller1", "FAILED", "CARD", "insufficient_funds", "2026-11-04T09:12:00Z", 45_000},
			{"pay_6Tz", "acc_seller1", "DISPUTED", "SEPA_DEBIT", "", "2026-11-09T11:47:00Z", 30_000},
			{"pay_7Ub", "acc_seller3", "CAPTURED", "INSTANT_TRANSFER", "", "2026-11-20T06:58:00Z", 12_000},
			{"pay_8Xk", "acc_seller1", "CAPTURED", "CARD", "", "2026-11-27T14:21:00Z", 18_400},
		},
		payouts: []*payout{
			{"pyt_11a", "acc_seller1", "PAID", "SEPA", "Harbour Books GmbH", "2026-11-06T05:00:00Z", 200_000},
			{"pyt_12c", "acc_seller2", "RETURNED", "FPS", "Marsh and Reed", "2026-11-13T05:00:00Z", 20_000},
			{"pyt_13f", "acc_seller1", "SUBMITTED", "SEPA", "Harbour Books GmbH", "2026-11-27T05:00:00Z", 120_000},
		},
		refunds: []*refund{
			{"ref_1c", "pay_3Ha", "damaged", "2026-11-10T10:00:00Z", 400},
		},
	}
}

// firstSequence is beyond what a 64-bit float can count.
const firstSequence = int64(9_007_199_254_740_993)

func find[T any](all []T, is func(T) bool) (T, bool) {
	if i := slices.IndexFunc(all, is); i >= 0 {
		return all[i], true
	}
	var none T
	return none, false
}

func (b *books) account(id string) (*account, bool) {
	return find(b.accounts, func(a *account) bool { return a.id == id })
}

func (b *books) payout(id string) (*payout, bool) {
	return find(b.payouts, func(p *payout) bool { return p.id == id })
}

// node is anything by its id; nil if there is nothing.
func (b *books) node(id string) any {
	if o, ok := find(b.owners, func(o *owner) bool { return o.id == id }); ok {
		return b.ownerObject(o)
	}
	if a, ok := b.account(id); ok {
		return b.accountObject(a)
	}
	if p, ok := find(b.payments, func(p *payment) bool { return p.id == id }); ok {
		return b.paymentObject(p)
	}
	if p, ok := b.payout(id); ok {
		return b.payoutObject(p)
	}
	if r, ok := find(b.refunds, func(r *refund) bool { return r.id == id }); ok {
		return b.refundObject(r)
	}
	return nil
}

// lazy is a resolver without arguments: objects refer to one another in circles.
func lazy(value func() any) resolver {
	return func(map[string]any) (any, error) { return value(), nil }
}

func (b *books) query(schema *ast.Schema) object {
	only := func(typename string) resolver {
		return func(args map[string]any) (any, error) {
			if o, ok := b.node(argument(args, "id")).(object); ok && (typename == "" || o.typename == typename) {
				return o, nil
			}
			return nil, nil
		}
	}
	fields := introspector{schema}.fields()
	fields["node"] = only("")
	fields["account"] = only("Account")
	fields["owner"] = only("Owner")
	fields["payment"] = only("Payment")
	fields["payout"] = only("Payout")
	fields["accounts"] = resolver(func(args map[string]any) (any, error) {
		all := []object{}
		for _, a := range b.accounts {
			if currency := argument(args, "currency"); currency == "" || currency == a.currency {
				all = append(all, b.accountObject(a))
			}
		}
		return all, nil
	})
	fields["search"] = resolver(func(args map[string]any) (any, error) { return b.search(argument(args, "text")), nil })
	fields["exchangeRate"] = resolver(func(map[string]any) (any, error) {
		return nil, errors.New("the source of exchange rates does not answer")
	})
	return object{"Query", fields}
}

func (b *books) search(what string) []object {
	what = strings.ToLower(strings.TrimSpace(what))
	found := []object{}
	match := func(o object, texts ...string) {
		if what != "" && slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(strings.ToLower(t), what) }) {
			found = append(found, o)
		}
	}
	for _, o := range b.owners {
		match(b.ownerObject(o), o.id, o.name)
	}
	for _, a := range b.accounts {
		match(b.accountObject(a), a.id, a.iban)
	}
	for _, p := range b.payments {
		match(b.paymentObject(p), p.id)
	}
	for _, p := range b.payouts {
		match(b.payoutObject(p), p.id, p.beneficiary)
	}
	return found
}

func (b *books) ownerObject(o *owner) object {
	return object{"Owner", map[string]any{
		"id": o.id, "name": o.name, "country": o.country, "verified": o.verified,
		"accounts": lazy(func() any {
			all := []object{}
			for _, a := range b.accounts {
				if a.owner == o.id {
					all = append(all, b.accountObject(a))
				}
			}
			return all
		}),
	}}
}

func money(minor int64, currency string) object {
	return object{"Money", map[string]any{"minor": minor, "currency": currency}}
}

func (b *books) restricted(a *account) bool {
	o, ok := find(b.owners, func(o *owner) bool { return o.id == a.owner })
	return !ok || !o.verified
}

func (b *books) accountObject(a *account) object {
	return object{"Account", map[string]any{
		"id": a.id, "currency": a.currency, "iban": text(a.iban), "restricted": b.restricted(a),
		"owner": lazy(func() any { return b.node(a.owner) }),
		"balances": object{"Balances", map[string]any{
			"pending": money(a.pending, a.currency), "available": money(a.available, a.currency),
			"reserved": money(a.reserved, a.currency), "inTransit": money(a.inTransit, a.currency),
		}},
		"payments": resolver(func(args map[string]any) (any, error) { return b.paymentsOf(a, args) }),
		"payouts": resolver(func(args map[string]any) (any, error) {
			all := []object{}
			for _, p := range slices.Backward(b.payouts) {
				if status := argument(args, "status"); p.account == a.id && (status == "" || status == p.status) {
					all = append(all, b.payoutObject(p))
				}
			}
			return all, nil
		}),
		"ledger": resolver(func(args map[string]any) (any, error) { return b.ledger(a, args) }),
	}}
}

func (b *books) paymentsOf(a *account, args map[string]any) (any, error) {
	filter, _ := args["filter"].(map[string]any)
	least, err := integer(filter["minAmount"])
	if err != nil {
		return nil, fmt.Errorf("minAmount: %w", err)
	}
	var matching []*payment
	for _, p := range slices.Backward(b.payments) {
		status := argument(filter, "status")
		if p.account == a.id && (status == "" || status == p.status) && p.amount >= least && p.at > argument(filter, "createdAfter") {
			matching = append(matching, p)
		}
	}
	total := len(matching)
	if after := argument(args, "after"); after != "" {
		i := slices.IndexFunc(matching, func(p *payment) bool { return p.id == after })
		if i < 0 {
			return nil, errors.New("after is no cursor of this list")
		}
		matching = matching[i+1:]
	}
	first, err := count(args, "first")
	if err != nil {
		return nil, err
	}
	page := matching[:min(first, len(matching))]
	edges := []object{}
	var end any
	for _, p := range page {
		edges = append(edges, object{"PaymentEdge", map[string]any{"cursor": p.id, "node": b.paymentObject(p)}})
		end = p.id
	}
	return object{"PaymentConnection", map[string]any{
		"totalCount": total, "edges": edges,
		"pageInfo": object{"PageInfo", map[string]any{"hasNextPage": len(page) < len(matching), "endCursor": end}},
	}}, nil
}

func (b *books) ledger(a *account, args map[string]any) (any, error) {
	first, err := count(args, "first")
	if err != nil {
		return nil, err
	}
	type movement struct {
		at, id string
		amount int64
	}
	var all []movement
	of := map[string]string{}
	for _, p := range b.payments {
		of[p.id] = p.account
		if p.account == a.id && p.status != "FAILED" {
			all = append(all, movement{p.at, p.id, p.amount})
		}
	}
	for _, p := range b.payouts {
		if p.account == a.id && p.status != "CANCELED" {
			all = append(all, movement{p.at, p.id, -p.amount})
		}
	}
	for _, r := range b.refunds {
		if of[r.payment] == a.id {
			all = append(all, movement{r.at, r.id, -r.amount})
		}
	}
	slices.SortFunc(all, func(a, b movement) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.id, b.id)) })
	entries := []object{}
	for i, m := range slices.Backward(all) {
		if len(entries) == first {
			break
		}
		entries = append(entries, object{"LedgerEntry", map[string]any{
			"sequence": firstSequence + int64(i), "amount": money(m.amount, a.currency), "bookedAt": m.at,
			"source": lazy(func() any { return b.node(m.id) }),
		}})
	}
	return entries, nil
}

func (b *books) paymentObject(p *payment) object {
	return object{"Payment", map[string]any{
		"id": p.id, "status": p.status, "createdAt": p.at, "failureCode": text(p.failure),
		"method": strings.ToLower(p.method), "paymentMethod": p.method,
		"account": lazy(func() any { return b.node(p.account) }),
		"amount":  money(p.amount, b.currency(p.account)),
		"refunds": lazy(func() any {
			all := []object{}
			for _, r := range b.refunds {
				if r.payment == p.id {
					all = append(all, b.refundObject(r))
				}
			}
			return all
		}),
	}}
}

func (b *books) refundObject(r *refund) object {
	p, _ := find(b.payments, func(p *payment) bool { return p.id == r.payment })
	return object{"Refund", map[string]any{
		"id": r.id, "reason": text(r.reason), "amount": money(r.amount, b.currency(p.account)),
		"payment": lazy(func() any { return b.paymentObject(p) }),
	}}
}

func (b *books) payoutObject(p *payout) object {
	return object{"Payout", map[string]any{
		"id": p.id, "status": p.status, "rail": p.rail, "beneficiary": p.beneficiary, "createdAt": p.at,
		"amount":  money(p.amount, b.currency(p.account)),
		"account": lazy(func() any { return b.node(p.account) }),
	}}
}

func (b *books) currency(account string) string {
	a, _ := b.account(account)
	return a.currency
}

func (b *books) mutation() object {
	return object{"Mutation", map[string]any{
		"createPayout": resolver(func(args map[string]any) (any, error) {
			input, _ := args["input"].(map[string]any)
			return b.createPayout(input)
		}),
		"cancelPayout": resolver(func(args map[string]any) (any, error) {
			return b.cancelPayout(argument(args, "id")), nil
		}),
	}}
}

func rejection(typename, code, format string, args ...any) object {
	return object{typename, map[string]any{"code": code, "message": fmt.Sprintf(format, args...)}}
}

func (b *books) createPayout(input map[string]any) (any, error) {
	amount, err := integer(input["amount"])
	if err != nil || amount <= 0 {
		return nil, errors.New("amount must be a whole number above 0")
	}
	id := argument(input, "accountId")
	a, ok := b.account(id)
	switch {
	case !ok:
		return rejection("NotFoundRejection", "not_found", "there is no account %s", id), nil
	case b.restricted(a):
		return rejection("AccountRestrictedRejection", "account_restricted", "the owner of %s has not passed the identity check", id), nil
	case a.available < amount:
		r := rejection("InsufficientBalanceRejection", "insufficient_balance",
			"%s has %d available, the payout needs %d", id, a.available, amount)
		r.fields["available"] = money(a.available, a.currency)
		return r, nil
	}
	p := &payout{
		id: "pyt_" + strconv.Itoa(len(b.payouts)+11), account: id, status: "SCHEDULED", rail: cmp.Or(argument(input, "rail"), "SEPA"),
		beneficiary: argument(input, "beneficiary"), at: "2026-11-30T12:00:00Z", amount: amount,
	}
	if p.rail != "SEPA" {
		p.status = "SUBMITTED" // the fast rails wait for no cut-off
	}
	a.available -= amount
	a.inTransit += amount
	b.payouts = append(b.payouts, p)
	return object{"PayoutCreated", map[string]any{"payout": b.payoutObject(p)}}, nil
}

func (b *books) cancelPayout(id string) any {
	p, ok := b.payout(id)
	if !ok {
		return rejection("NotFoundRejection", "not_found", "there is no payout %s", id)
	}
	if p.status != "SCHEDULED" {
		r := rejection("PayoutSubmittedRejection", "payout_submitted", "%s is %s and cannot be canceled", id, strings.ToLower(p.status))
		r.fields["payout"] = b.payoutObject(p)
		return r
	}
	p.status = "CANCELED"
	if a, ok := b.account(p.account); ok {
		a.available += p.amount
		a.inTransit -= p.amount
	}
	return object{"PayoutCanceled", map[string]any{"payout": b.payoutObject(p)}}
}

// argument is an argument as text; "" where it was not given.
func argument(args map[string]any, name string) string {
	if args[name] == nil {
		return ""
	}
	return fmt.Sprint(args[name])
}

// integer reads a number that a document or a variable holds; nothing is 0.
func integer(value any) (int64, error) {
	switch v := value.(type) {
	case nil:
		return 0, nil
	case int64:
		return v, nil
	case json.Number:
		return v.Int64()
	}
	return 0, fmt.Errorf("%v is no whole number", value)
}

// maxPage is the most that a list gives at once.
const maxPage = 100

func count(args map[string]any, name string) (int, error) {
	n, err := integer(args[name])
	if err != nil || n < 1 || n > maxPage {
		return 0, fmt.Errorf("%s must be 1 to %d", name, maxPage)
	}
	return int(n), nil
}
