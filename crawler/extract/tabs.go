package extract

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// labelPanels finds what stands behind tabs and accordion buttons, so that it
// is kept although it may be hidden, and its label with it. The rows of tabs go.
func (p *page) labelPanels() {
	byID := map[string]*html.Node{}
	var lists, buttons, radios, orphans []*html.Node
	for n := range elements(p.body) {
		if id := attr(n, "id"); id != "" {
			if _, taken := byID[id]; !taken {
				byID[id] = n
			}
		}
		role := attr(n, "role")
		switch {
		case role == "tablist":
			lists = append(lists, n)
		case role == "tabpanel" || hasClass(n, "tab-pane", "tabs-panel"):
			orphans = append(orphans, n)
		case (n.DataAtom == atom.Button || role == "button") && hasAttr(n, "aria-expanded"):
			buttons = append(buttons, n)
		case n.DataAtom == atom.Input && attr(n, "type") == "radio" && n.Parent != nil:
			if last := len(radios) - 1; last < 0 || radios[last] != n.Parent {
				radios = append(radios, n.Parent)
			}
		}
	}
	for _, list := range lists {
		p.labelByRole(list, byID)
	}
	for _, n := range buttons {
		p.labelByButton(n, byID)
	}
	for _, n := range radios {
		p.labelByRadio(n)
	}
	for _, n := range orphans {
		if _, done := p.labels[n]; done {
			continue
		}
		label := attr(n, "aria-label")
		if by := byID[attr(n, "aria-labelledby")]; by != nil {
			label = flatText(by)
		}
		p.labels[n] = label
	}
}

// labelByRole follows the WAI-ARIA tabs pattern: a tab controls its panel, or
// is as far down its list as the panel among the panels beside the list.
func (p *page) labelByRole(list *html.Node, byID map[string]*html.Node) {
	var tabs []*html.Node
	for n := range elements(list) {
		if attr(n, "role") == "tab" {
			tabs = append(tabs, n)
		}
	}
	if len(tabs) == 0 {
		return
	}
	panels := panelsBeside(list, len(tabs))
	for i, tab := range tabs {
		panel := byID[attr(tab, "aria-controls")]
		for _, key := range []string{"data-bs-target", "data-target", "href"} {
			if target := attr(tab, key); panel == nil && strings.HasPrefix(target, "#") {
				panel = byID[target[1:]]
			}
		}
		if panel == nil && len(panels) == len(tabs) {
			panel = panels[i]
		}
		if panel != nil && !contains(panel, list) {
			label := flatText(tab)
			if _, shared := p.labels[panel]; shared {
				label = "" // the tabs filter one panel
			}
			p.labels[panel] = label
		}
	}
	p.gone[list] = true
}

// panelsBeside returns the panels that stand near a list of tabs, of which
// there must be want.
func panelsBeside(list *html.Node, want int) []*html.Node {
	at := list
	for range 4 {
		if at = at.Parent; at == nil || at.DataAtom == atom.Body {
			return nil
		}
		var panels []*html.Node
		budget := maxTabSearch
		collectPanels(at, &panels, want+1, &budget)
		if len(panels) == want {
			return panels
		}
		if len(panels) > want {
			return nil
		}
	}
	return nil
}

// maxTabSearch is how many elements near a list of tabs are looked at.
const maxTabSearch = 2000

func collectPanels(n *html.Node, panels *[]*html.Node, most int, budget *int) {
	for c := range children(n) {
		if *budget--; *budget < 0 || len(*panels) == most {
			return
		}
		if attr(c, "role") == "tabpanel" || hasClass(c, "tab-pane") {
			*panels = append(*panels, c)
			continue
		}
		collectPanels(c, panels, most, budget)
	}
}

// labelByRadio follows the pattern without scripts: radio buttons, their
// labels, and as many panels, after the labels or each after its own.
func (p *page) labelByRadio(set *html.Node) {
	labels := labelsIn(set)
	if len(labels) == 0 {
		for c := range children(set) {
			labels = append(labels, labelsIn(c)...)
		}
	}
	if len(labels) == 0 {
		return
	}
	panels := radioPanels(set, len(labels))
	if panels == nil && set.Parent != nil && len(labels) > 1 {
		panels = radioPanels(set.Parent, len(labels))
	}
	if panels == nil {
		return
	}
	for i, label := range labels {
		text := flatText(label)
		if title := attr(label, "data-title"); title != "" {
			text = collapse(visible(title))
		}
		p.labels[panels[i]] = text
		p.gone[label] = true
	}
}

func labelsIn(n *html.Node) []*html.Node {
	var labels []*html.Node
	for c := range children(n) {
		if c.DataAtom == atom.Label && attr(c, "for") != "" {
			labels = append(labels, c)
		}
	}
	return labels
}

// maxTabs is how many children of a set of tabs are looked at.
const maxTabs = 200

func radioPanels(set *html.Node, want int) []*html.Node {
	var direct []*html.Node
	looked := 0
	for c := range children(set) {
		if looked++; looked > maxTabs {
			return nil
		}
		if c.DataAtom == atom.Input || c.DataAtom == atom.Label || len(labelsIn(c)) > 0 {
			continue
		}
		var inner []*html.Node
		for g := range children(c) {
			inner = append(inner, g)
		}
		if len(inner) == want && want > 1 {
			return inner
		}
		direct = append(direct, c)
	}
	if len(direct) == want {
		return direct
	}
	return nil
}

// labelByButton follows the WAI-ARIA disclosure pattern.
func (p *page) labelByButton(button *html.Node, byID map[string]*html.Node) {
	panel := byID[attr(button, "aria-controls")]
	if panel == nil || contains(panel, button) || within(panel, isOverlay) != nil {
		return
	}
	switch attr(button, "aria-haspopup") {
	case "", "false":
	default:
		return
	}
	if within(button, func(n *html.Node) bool { return is(n, atom.Nav, atom.Header, atom.Aside) }) != nil {
		return
	}
	p.labels[panel] = flatText(button)
	if within(button, func(n *html.Node) bool { return headingLevel(n) > 0 }) != nil {
		p.labels[panel] = "" // the heading is the label
	}
}

// isOverlay reports whether an element is a dialog or a menu over the page.
func isOverlay(n *html.Node) bool {
	if n.DataAtom == atom.Dialog || attr(n, "aria-modal") == "true" {
		return true
	}
	switch attr(n, "role") {
	case "dialog", "alertdialog", "menu", "menubar", "listbox", "tooltip":
		return true
	}
	return false
}

func contains(outer, inner *html.Node) bool {
	for ; inner != nil; inner = inner.Parent {
		if inner == outer {
			return true
		}
	}
	return false
}
