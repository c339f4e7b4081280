package chunker

import (
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

type kind uint8

const (
	prose kind = iota
	fence      // a fenced code block
	code       // an indented code block
	table
)

// block is a range of whole lines of a section.
type block struct {
	kind        kind
	first, last int // lines, both included

	// Of a fence: what stands before its marks, the marks, the info string, and
	// whether it is closed.
	prefix, marks, info string
	closed              bool
}

const (
	// maxDepth bounds the containers (quotes, list items) that a line is in.
	// Deeper than that nobody writes.
	maxDepth = 64
	// maxRecords bounds the product of depth and lines.
	maxRecords = 1 << 22
)

// newBlockParser returns a parser of the block structure alone: of where fences,
// code and tables are.
func newBlockParser() parser.Parser {
	return parser.NewParser(
		parser.WithBlockParsers(parser.DefaultBlockParsers()...),
		parser.WithParagraphTransformers(util.Prioritized(extension.NewTableParagraphTransformer(), 200)),
	)
}

// lines are the lines of a text: the offset of each and, at last, the length of
// the text.
type lines []int

func newLines(md string) lines {
	starts := make(lines, 1, 2+strings.Count(md, "\n"))
	for i := range len(md) {
		if md[i] == '\n' && i+1 < len(md) {
			starts = append(starts, i+1)
		}
	}
	return append(starts, len(md))
}

func (l lines) count() int { return len(l) - 1 }

// at returns the number of the line that a byte is in.
func (l lines) at(offset int) int {
	i, found := slices.BinarySearch(l, offset)
	if !found {
		i--
	}
	return min(i, l.count()-1)
}

// special finds the fences, indented code and tables of a section, in order.
func (c *Chunker) special(md string, l lines) []block {
	if tooDeep(md, l) {
		return nil
	}
	source := []byte(md)
	var blocks []block
	doc := c.parser.Parse(text.NewReader(source))
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the visitor returns no error
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.FencedCodeBlock:
			blocks = append(blocks, newFence(md, l, n))
		case *ast.CodeBlock:
			if n.Lines().Len() > 0 {
				blocks = append(blocks, block{
					kind:  code,
					first: l.at(n.Lines().At(0).Start),
					last:  l.at(n.Lines().At(n.Lines().Len() - 1).Start),
				})
			}
		case *extast.Table:
			if cell := n.FirstChild().FirstChild(); cell != nil && cell.Pos() >= 0 {
				first := l.at(cell.Pos())
				// The header and the delimiter, then a line for each row.
				blocks = append(blocks, block{kind: table, first: first, last: min(first+n.ChildCount(), l.count()-1)})
			}
			return ast.WalkSkipChildren, nil
		case *ast.Paragraph, *ast.TextBlock, *ast.Heading:
			return ast.WalkSkipChildren, nil
		}
		return ast.WalkContinue, nil
	})
	opens := make(map[int]bool, len(blocks))
	for _, b := range blocks {
		opens[b.first] = b.kind == fence
	}
	for i := range blocks {
		b := &blocks[i]
		if next := b.last + 1; b.kind == fence && next < l.count() && !opens[next] && b.closes(md[l[next]:l[next+1]]) {
			b.closed, b.last = true, next
		}
	}
	return blocks
}

func newFence(md string, l lines, n *ast.FencedCodeBlock) block {
	pos := n.Pos()
	b := block{kind: fence, first: l.at(pos)}
	b.last = b.first
	if k := n.Lines().Len(); k > 0 {
		b.last = l.at(n.Lines().At(k - 1).Start)
	}
	line := md[pos:l[b.first+1]]
	b.prefix = md[l[b.first]:pos]
	b.marks = line[:len(line)-len(strings.TrimLeft(line, line[:1]))]
	b.info = strings.TrimSpace(line[len(b.marks):])
	return b
}

// closes reports whether a line behind the content of a fence is its end.
func (b block) closes(line string) bool {
	line = strings.TrimRight(strings.TrimLeft(line, " \t>"), " \t\r\n")
	return len(line) >= len(b.marks) && strings.Trim(line, b.marks[:1]) == ""
}

// tooDeep reports whether the containers of a section would cost the parser more
// than they are worth: it keeps a record for each of them and line.
func tooDeep(md string, l lines) bool {
	deepest := 0
	for i := range l.count() {
		deepest = max(deepest, depth(md[l[i]:l[i+1]]))
	}
	return deepest > maxDepth || deepest*l.count() > maxRecords
}

// depth bounds the number of containers that a line is in by the marks that it
// starts with and, if it has one, by its indentation.
func depth(line string) int {
	marks, columns := 0, 0
	for i := range len(line) {
		switch c := line[i]; {
		case c == ' ':
			columns++
		case c == '\t':
			columns += 4
		case c == '>':
			marks++
		case strings.IndexByte("-*+.)", c) >= 0 && (i+1 == len(line) || strings.IndexByte(" \t\r\n", line[i+1]) >= 0):
			marks++
		case '0' <= c && c <= '9', c == '\r', c == '\n':
		default:
			if marks == 0 {
				return 0
			}
			return marks + columns/2
		}
	}
	if strings.Trim(line, "-* \t\r\n") == "" {
		return 0 // a thematic break
	}
	return marks + columns/2
}

// leavesFenceOpen reports whether what follows a text would be in a fence.
func (c *Chunker) leavesFenceOpen(md string) bool {
	if !strings.Contains(md, "```") && !strings.Contains(md, "~~~") {
		return false
	}
	l := newLines(md)
	blocks := c.special(md, l)
	if len(blocks) == 0 {
		return false
	}
	last := blocks[len(blocks)-1]
	return last.kind == fence && !last.closed && last.last == l.count()-1
}

// blocks divides a section into its blocks: the special ones, and between them
// what blank lines and the starts of list items divide.
func (c *Chunker) blocks(md string) (l lines, all []block) {
	l = newLines(md)
	found := c.special(md, l)
	for i := 0; i < l.count(); {
		if len(found) > 0 && found[0].first <= i {
			if found[0].last >= i { // else a container's end misled us
				found[0].first = i
				all = append(all, found[0])
				i = found[0].last + 1
			}
			found = found[1:]
			continue
		}
		line := md[l[i]:l[i+1]]
		if isBlank(line) {
			i++
			continue
		}
		b := block{first: i, last: i}
		for i++; i < l.count() && (len(found) == 0 || i < found[0].first); i++ {
			line := md[l[i]:l[i+1]]
			if isBlank(line) || isItem(line) {
				break
			}
			b.last = i
		}
		all = append(all, b)
	}
	return l, all
}

// isItem reports whether a line starts a list item.
func isItem(line string) bool {
	line = strings.TrimLeft(line, " \t>")
	digits := len(line) - len(strings.TrimLeft(line, "0123456789"))
	if len(line) < digits+2 || digits > 9 {
		return false
	}
	mark, after := line[digits], line[digits+1]
	if after != ' ' && after != '\t' && after != '\n' {
		return false
	}
	if digits > 0 {
		return mark == '.' || mark == ')'
	}
	return mark == '-' || mark == '*' || mark == '+'
}
