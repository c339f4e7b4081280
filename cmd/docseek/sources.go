package main

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"regexp"
	"strings"

	"github.com/docseek/docseek"
	"github.com/docseek/docseek/internal/config"
	"github.com/docseek/docseek/internal/schedule"
)

// configuration reads the file that --config names, or the defaults. The URLs
// of the command line, where there are any, take the place of its sources.
func (a *app) configuration(urls []string) (config.Config, error) {
	var c config.Config
	var err error
	if a.configFile != "" {
		c, err = config.Load(a.configFile, a.environ, checkSchedule)
	} else {
		c, err = config.Override(a.environ, checkSchedule)
	}
	if err != nil {
		return config.Config{}, err
	}
	if len(urls) == 0 {
		return c, nil
	}
	configured := map[string]docseek.Source{}
	for _, s := range c.Sources {
		configured[s.Start] = s
	}
	c.Sources = nil
	for _, u := range urls {
		if !config.IsURL(u) {
			return config.Config{}, usagef("%q is no http or https URL; a folder needs a configuration file (docseek config init)", u)
		}
		s, ok := configured[u]
		if !ok {
			s = docseek.Source{Name: sourceName(u), Start: u}
		}
		c.Sources = append(c.Sources, s)
	}
	if err := c.Validate(); err != nil {
		return config.Config{}, usageError{err}
	}
	return c, nil
}

// checkSchedule finds what is wrong with the schedule; that it is missing is
// found elsewhere.
func checkSchedule(c config.Config) []config.Fault {
	if strings.TrimSpace(c.Schedule) == "" {
		return nil
	}
	if _, err := schedule.New(c.Schedule, schedule.Options{}); err != nil {
		return []config.Fault{{Field: "schedule", Message: err.Error()}}
	}
	return nil
}

var (
	plainName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]*$`)
	notPlain  = regexp.MustCompile(`[^a-z0-9._-]+`)
)

// maxNameStem leaves room for the hash in a name of 64 bytes.
const maxNameStem = 48

// sourceName names the source of a URL after its host and path. The same URL
// always gets the same name; where the name had to leave something out, a hash
// of the URL keeps it apart from others.
func sourceName(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return hashed("site", raw)
	}
	path := strings.TrimSuffix(strings.TrimSuffix(strings.Trim(u.EscapedPath(), "/"), "sitemap.xml"), "/")
	name := strings.ToLower(u.Host)
	if path != "" {
		name += "/" + path
	}
	lossy := strings.Contains(name, "_") || u.RawQuery != ""
	name = strings.NewReplacer("/", "_", ":", ".").Replace(name)
	if lossy || len(name) > maxNameStem || !plainName.MatchString(name) {
		return hashed(name, raw)
	}
	return name
}

func hashed(stem, raw string) string {
	sum := sha256.Sum256([]byte(raw))
	stem = strings.Trim(notPlain.ReplaceAllString(strings.ToLower(stem), "-"), "._-")
	if len(stem) > maxNameStem {
		stem = stem[:maxNameStem]
	}
	if stem == "" {
		stem = "site"
	}
	return strings.TrimRight(stem, "._-") + "-" + hex.EncodeToString(sum[:4])
}
