package extract

import (
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Bounds of what spans may make of a table.
const (
	maxColumns = 200
	// maxRepeat is the longest text, in bytes, that a span repeats.
	maxRepeat = 500
	// maxSpread is how many cells spans may add to a table.
	maxSpread = 50000
)

// row is a row of a table as it stands in the page.
type row struct {
	node  *html.Node
	cells []*html.Node
	head  bool // in thead, or all cells are th
}

// rowsOf returns the rows of a table, those of its foot last.
func (r *renderer) rowsOf(table *html.Node) []row {
	var rows, foot []row
	var walk func(n *html.Node, in atom.Atom)
	walk = func(n *html.Node, in atom.Atom) {
		for c := range children(n) {
			if r.parts[c] == chrome {
				continue
			}
			switch c.DataAtom {
			case atom.Thead, atom.Tbody, atom.Tfoot:
				walk(c, c.DataAtom)
			case atom.Tr:
				w := row{node: c, head: in == atom.Thead}
				all := true
				for cell := range children(c) {
					if is(cell, atom.Td, atom.Th) && r.parts[cell] != chrome && !isGutter(cell) {
						w.cells = append(w.cells, cell)
						all = all && cell.DataAtom == atom.Th
					}
				}
				if len(w.cells) == 0 {
					continue
				}
				w.head = w.head || all && in != atom.Tfoot
				if in == atom.Tfoot {
					foot = append(foot, w)
				} else {
					rows = append(rows, w)
				}
			default:
			}
		}
	}
	walk(table, 0)
	return append(rows, foot...)
}

// table writes a table: data as a GFM table, or row by row where cells hold
// blocks of code or are all of the row; what only lays out the page as its content.
func (r *renderer) table(out *blocks, n *html.Node) {
	rows := r.rowsOf(n)
	if r.laysOut(n, rows) {
		r.layout(out, n)
		return
	}
	for c := range children(n) {
		if c.DataAtom == atom.Caption && r.parts[c] != chrome {
			var l line
			r.inlines(&l, c)
			out.add(resolve(l.String()))
		}
	}
	grid, heads := r.grid(rows)
	if len(grid) == 0 {
		return
	}
	header := flatten(grid[:heads])
	if len(header) <= 1 && r.holdsBlocks(rows) || holdsCodeBlock(n) {
		r.records(out, rows[heads:], header)
		return
	}
	writeGrid(out, grid, heads)
}

// writeGrid writes rows of cells, the first of which are the header.
func writeGrid(out *blocks, grid [][]string, heads int) {
	header := flatten(grid[:heads])
	width := len(header)
	for _, g := range grid[heads:] {
		width = max(width, len(g))
	}
	var b strings.Builder
	writeRow(&b, header, width)
	b.WriteString("|" + strings.Repeat(" --- |", width))
	for _, g := range grid[heads:] {
		if strings.Join(g, "") == "" {
			continue
		}
		b.WriteByte('\n')
		writeCells(&b, g)
	}
	out.add(b.String())
}

func writeRow(b *strings.Builder, cells []string, width int) {
	writeCells(b, cells)
	for i := len(cells); i < width; i++ {
		if i == 0 {
			b.WriteByte('|')
		}
		b.WriteString("  |")
	}
	b.WriteByte('\n')
}

func writeCells(b *strings.Builder, cells []string) {
	for i, c := range cells {
		if i == 0 {
			b.WriteByte('|')
		}
		b.WriteString(" " + c + " |")
	}
}

// grid expands the spans of a table; heads is the number of header rows.
func (r *renderer) grid(rows []row) (grid [][]string, heads int) {
	type span struct {
		text string
		rows int
	}
	var down []span // cells of earlier rows that reach into the next, by column
	spread := 0
	for i, w := range rows {
		var cells []string
		fill := func() {
			for len(cells) < len(down) && down[len(cells)].rows > 0 && len(cells) < maxColumns {
				down[len(cells)].rows--
				cells = append(cells, down[len(cells)].text)
				spread++
			}
		}
		for _, cell := range w.cells {
			fill()
			if len(cells) >= maxColumns {
				break
			}
			text := r.cell(cell)
			cols, deep := spanOf(cell, "colspan"), spanOf(cell, "rowspan")
			if hasAttr(cell, "rowspan") && strings.TrimSpace(attr(cell, "rowspan")) == "0" {
				deep = len(rows)
			}
			deep = min(deep, len(rows)-i)
			if spread > maxSpread {
				cols, deep = 1, 1
			}
			again := text
			if len(text) > maxRepeat {
				again = ""
			}
			// A cell over the whole width of the body is a row's title, said once.
			if !w.head && len(w.cells) == 1 && cols > 1 {
				cols = 1
			}
			for k := range min(cols, maxColumns-len(cells)) {
				if k > 0 {
					text = again
					spread++
				}
				for len(down) <= len(cells) {
					down = append(down, span{})
				}
				down[len(cells)] = span{text: again, rows: deep - 1}
				cells = append(cells, text)
			}
		}
		fill()
		grid = append(grid, cells)
	}
	for heads < len(rows) && rows[heads].head {
		heads++
	}
	if heads == len(rows) {
		heads = min(heads, 1)
	}
	return grid, heads
}

func spanOf(cell *html.Node, key string) int {
	n, err := strconv.Atoi(strings.TrimSpace(attr(cell, key)))
	if err != nil || n < 1 {
		return 1
	}
	return min(n, 65534)
}

// flatten makes one header of several rows: what stands above one another in a
// column, each text once.
func flatten(heads [][]string) []string {
	var out []string
	for _, h := range heads {
		for i, cell := range h {
			switch {
			case i >= len(out):
				out = append(out, cell)
			case cell == "" || out[i] == cell || strings.HasSuffix(out[i], " / "+cell):
			case out[i] == "":
				out[i] = cell
			default:
				out[i] += " / " + cell
			}
		}
	}
	return out
}

// cell is the content of a cell on one line: its blocks with a dot between them.
func (r *renderer) cell(n *html.Node) string {
	var parts []string
	var l line
	flush := func() {
		if s := resolve(strings.ReplaceAll(l.String(), "  \n", " ")); s != "" {
			parts = append(parts, s)
		}
		l = line{}
	}
	var walk func(n *html.Node)
	walk = func(n *html.Node) {
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			switch {
			case c.Type == html.TextNode:
				r.inline(&l, c)
			case c.Type != html.ElementNode || r.parts[c] == chrome:
			case r.isCode(c):
				flush()
				var code codeText
				code.add(c, r.parts)
				if s := collapse(visible(code.b.String())); s != "" {
					parts = append(parts, codeSpan(s))
				}
			case inlineTag(c) && !r.outline.wraps[c]:
				r.inline(&l, c)
			default:
				flush()
				walk(c)
				flush()
			}
		}
	}
	walk(n)
	flush()
	s := strings.Join(parts, " · ")
	return strings.ReplaceAll(s, "|", `\|`)
}

// gridTable writes the tables that JavaDoc lays out by style sheet: their cells
// are children of one element, and the first of each row says so.
func (r *renderer) gridTable(out *blocks, n *html.Node) {
	var grid [][]string
	heads := 0
	for c := range children(n) {
		if r.parts[c] == chrome {
			continue
		}
		if len(grid) == 0 || hasClass(c, "col-first", "col-summary-item-name", "col-constructor-name", "col-plain") {
			grid = append(grid, nil)
		}
		last := len(grid) - 1
		grid[last] = append(grid[last], r.cell(c))
		if last == 0 && hasClass(c, "table-header") {
			heads = 1
		}
	}
	writeGrid(out, grid, heads)
}

// laysOut reports whether a table only lays out the page.
func (r *renderer) laysOut(n *html.Node, rows []row) bool {
	if role := attr(n, "role"); role == "presentation" || role == "none" {
		return true
	}
	if r.outline.holds[n] || hasClass(n, "memname", "mlabels", "memberdecls", "directory", "highlighttable", "codehilitetable", "rouge-table", "lntable", "simplelist", "hdlist", "layout") {
		return true
	}
	widest, heads := 0, false
	for _, w := range rows {
		widest = max(widest, len(w.cells))
		for _, c := range w.cells {
			heads = heads || c.DataAtom == atom.Th
		}
		heads = heads || w.head
	}
	if widest <= 1 && !heads || len(rows) == 1 && !heads {
		return true
	}
	return find(n, func(e *html.Node) bool { return e.DataAtom == atom.Table && r.parts[e] != chrome }) != nil && !heads
}

// layout writes the cells of a table that lays out the page: those of a row on
// one line where they are lines, else one after the other.
func (r *renderer) layout(out *blocks, n *html.Node) {
	for c := range children(n) {
		if r.parts[c] == chrome {
			continue
		}
		switch c.DataAtom {
		case atom.Thead, atom.Tbody, atom.Tfoot:
			r.layout(out, c)
		case atom.Tr:
			r.layoutRow(out, c)
		case atom.Caption:
			r.flow(out, c)
		default:
		}
	}
}

func (r *renderer) layoutRow(out *blocks, tr *html.Node) {
	var l line
	flush := func() {
		out.add(resolve(l.String()))
		l = line{}
	}
	for c := range children(tr) {
		if r.parts[c] == chrome || isGutter(c) {
			continue
		}
		if r.outline.holds[c] || r.hasBlocks(c) {
			flush()
			r.flow(out, c)
			continue
		}
		r.inlines(&l, c)
		l.gap()
	}
	flush()
}

// hasBlocks reports whether an element has children that are blocks.
func (r *renderer) hasBlocks(n *html.Node) bool {
	for c := range children(n) {
		if r.parts[c] != chrome && (!inlineTag(c) || r.outline.wraps[c]) {
			return true
		}
	}
	return false
}

// holdsBlocks reports whether a cell of the rows has several blocks.
func (r *renderer) holdsBlocks(rows []row) bool {
	for _, w := range rows {
		for _, c := range w.cells {
			if first := firstElement(c); !w.head && first != nil && nextElement(first) != nil && r.hasBlocks(c) {
				return true
			}
		}
	}
	return false
}

func firstElement(n *html.Node) *html.Node {
	for c := range children(n) {
		return c
	}
	return nil
}

// holdsCodeBlock reports whether code of several lines stands in a table.
func holdsCodeBlock(n *html.Node) bool {
	return find(n, func(e *html.Node) bool {
		if e.DataAtom != atom.Pre {
			return false
		}
		var c codeText
		c.add(e, nil)
		return strings.Contains(strings.TrimSpace(c.b.String()), "\n")
	}) != nil
}

// records writes a table row by row: each row is an item of a list, each cell
// comes under the name of its column.
func (r *renderer) records(out *blocks, rows []row, header []string) {
	if len(header) == 1 {
		out.add(strings.ReplaceAll(header[0], `\|`, "|") + ":")
		header = nil
	}
	for _, w := range rows {
		var item blocks
		for i, cell := range w.cells {
			var inner blocks
			r.flow(&inner, cell)
			text := inner.String()
			if text == "" {
				continue
			}
			if i < len(header) && header[i] != "" {
				name := strings.ReplaceAll(header[i], `\|`, "|") + ":"
				if strings.HasPrefix(text, "```") {
					item.add(name)
				} else {
					text = name + " " + text
				}
			}
			item.add(text)
		}
		if s := item.String(); s != "" {
			out.add("- " + indent(s, "  "))
		}
	}
}
