// Package graphql knows the schema of a GraphQL API: it reads it from the
// endpoint itself, whatever part of the introspection the server understands,
// or from a file, forgives what real schemas have wrong, and keeps it fresh
// behind an [Endpoint] whose state is swapped as a whole.
//
// It also holds the [Client] that all calls to an endpoint go through.
package graphql
