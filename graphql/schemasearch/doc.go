// Package schemasearch finds the fields of a GraphQL schema that a question is
// about, and prints what it takes to ask for them: the path from the root, with
// the arguments of every field on it and the types those need, as SDL within a
// size that the asker chooses.
//
// Every pair of a type and its field is indexed once, with its cheapest path
// from a root (see [New]); paths are put together when they are asked for, since
// there are millions of them.
package schemasearch
