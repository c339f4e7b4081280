package web

import (
	"fmt"
	"html/template"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// functions are those of the templates.
func (p *Page) functions() template.FuncMap {
	return template.FuncMap{
		"ago":      func(t any) string { return relative(moment(t), p.opts.Now()) },
		"stamp":    func(t any) string { return moment(t).UTC().Format("2006-01-02 15:04 UTC") },
		"iso":      func(t any) string { return moment(t).UTC().Format(time.RFC3339) },
		"count":    count,
		"number":   number,
		"duration": duration,
		"web":      isWeb,
		"short":    short,
		"join":     strings.Join,
	}
}

// moment is a time that may be given by a pointer; zero if it is absent.
func moment(t any) time.Time {
	switch t := t.(type) {
	case time.Time:
		return t
	case *time.Time:
		if t != nil {
			return *t
		}
	}
	return time.Time{}
}

// relative says how far a time is from now, in its largest unit.
func relative(t, now time.Time) string {
	d := t.Sub(now)
	form := "in %s"
	if d < 0 {
		d, form = -d, "%s ago"
	}
	switch {
	case t.IsZero():
		return "never"
	case d < time.Minute && form == "in %s":
		return "in a moment"
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf(form, count(int(d.Minutes()), "minute"))
	case d < 48*time.Hour:
		return fmt.Sprintf(form, count(int(d.Hours()), "hour"))
	default:
		return fmt.Sprintf(form, count(int(d.Hours()/24), "day"))
	}
}

// count is a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return number(n) + " " + noun + "s"
}

// number groups the digits of a large number by thousands, with narrow spaces.
func number(n int) string {
	digits := strconv.Itoa(n)
	var b strings.Builder
	for i, d := range digits {
		if left := len(digits) - i; i > 0 && left%3 == 0 && digits[i-1] != '-' {
			b.WriteRune('\u202f')
		}
		b.WriteRune(d)
	}
	return b.String()
}

// isWeb reports whether an address may stand in a link.
func isWeb(address string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

// short is an address as people read it: without scheme and last slash.
func short(address string) string {
	for _, scheme := range []string{"https://", "http://"} {
		address = strings.TrimPrefix(address, scheme)
	}
	return strings.TrimSuffix(address, "/")
}
