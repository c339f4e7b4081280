package middleware

import (
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"golang.org/x/time/rate"

	"github.com/docseek/docseek/server/auth"
)

// maxCallers bounds the callers that are remembered. Who is forgotten begins
// anew, so that no more is lost than a limit.
const maxCallers = 10_000

// RateLimit bounds the requests of each caller. Make one with [NewRateLimit].
type RateLimit struct {
	limit rate.Limit
	burst int
	key   func(*http.Request) string
	log   *slog.Logger

	mu      sync.Mutex
	callers *simplelru.LRU[string, *allowance]
}

// allowance is what one caller has left.
type allowance struct {
	bucket *rate.Limiter
	over   bool // the last request was refused
}

// NewRateLimit allows each caller so many requests per minute in the long run,
// and a burst of them at once. key names the caller of a request; the empty one
// is not limited.
func NewRateLimit(perMinute, burst int, key func(*http.Request) string, log *slog.Logger) (*RateLimit, error) {
	callers, err := simplelru.NewLRU[string, *allowance](maxCallers, nil)
	if err != nil {
		return nil, fmt.Errorf("make the rate limit: %w", err)
	}
	return &RateLimit{limit: rate.Limit(float64(perMinute) / 60), burst: burst, key: key, log: log, callers: callers}, nil
}

// Wrap answers 429 with Retry-After to a caller that asks too often.
func (l *RateLimit) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := l.key(r)
		if key == "" {
			next.ServeHTTP(w, r)
			return
		}
		wait, first := l.take(key, time.Now())
		if wait == 0 {
			next.ServeHTTP(w, r)
			return
		}
		if first {
			l.log.LogAttrs(r.Context(), slog.LevelInfo, "rate limit reached", slog.String("caller", key))
		}
		seconds := int(math.Ceil(wait.Seconds()))
		w.Header().Set("Retry-After", strconv.Itoa(seconds))
		auth.Refuse(w, http.StatusTooManyRequests, fmt.Sprintf("too many requests: try again in %d s", seconds))
	})
}

// take takes one request off a caller's allowance, or says how long it has to
// wait, and whether it had not to before.
func (l *RateLimit) take(key string, now time.Time) (wait time.Duration, first bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a, known := l.callers.Get(key)
	if !known {
		a = &allowance{bucket: rate.NewLimiter(l.limit, l.burst)}
		l.callers.Add(key, a)
	}
	taken := a.bucket.ReserveN(now, 1)
	if wait = taken.DelayFrom(now); wait > 0 {
		taken.CancelAt(now)
		first = !a.over
	}
	a.over = wait > 0
	return wait, first
}

// AddressKey is the key of a caller that is known by its address alone. A
// network of IPv6 is one caller: whoever has one address of it has them all.
func AddressKey(addr netip.Addr) string {
	if addr.Is6() {
		if network, err := addr.Prefix(64); err == nil {
			return network.String()
		}
	}
	return addr.String()
}
