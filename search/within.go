package search

import (
	"context"
	"slices"
)

type withinKey struct{}

// Within narrows what is asked with the context to some sources: to whoever
// asks, the engine has no others. A context that is narrowed already is narrowed
// further.
func Within(ctx context.Context, sources []string) context.Context {
	allowed := slices.DeleteFunc(slices.Clone(sources), func(name string) bool { return !within(ctx, name) })
	return context.WithValue(ctx, withinKey{}, allowed)
}

func within(ctx context.Context, source string) bool {
	allowed, narrowed := ctx.Value(withinKey{}).([]string)
	return !narrowed || slices.Contains(allowed, source)
}
