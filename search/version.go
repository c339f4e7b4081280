package search

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// closeTo is the share of the best score among the versions of a section that
// the preferred version must reach to stand for them. Below it, the versions say
// different things.
const closeTo = 0.9

// preferVersions leaves one of the versions in which a section is among the
// hits: documentation is often published once for each release of a product, and
// the copies would fill the answer. The preferred version is the one that the
// source's configuration calls current, else the one whose address names none,
// else the newest. The order of the hits is kept.
func preferVersions(hits []scored, current map[string]string) []scored {
	keys, ranks := make([]string, len(hits)), make([][]int, len(hits))
	best, chosen := map[string]float64{}, map[string][]int{} // by key
	for i, hit := range hits {
		address, version := splitVersion(hit.URL, hit.Version)
		keys[i] = strings.Join(append([]string{hit.Source, hit.Language, address}, hit.Path...), "\x00")
		if ranks[i] = versionRank(version); version != "" && version == current[hit.Source] {
			ranks[i] = []int{rankCurrent}
		}
		best[keys[i]] = max(best[keys[i]], hit.score)
	}
	for i, hit := range hits {
		if key := keys[i]; hit.score >= closeTo*best[key] && slices.Compare(ranks[i], chosen[key]) > 0 {
			chosen[key] = ranks[i]
		}
	}
	var kept []scored
	for i, hit := range hits {
		if slices.Equal(ranks[i], chosen[keys[i]]) {
			kept = append(kept, hit)
		}
	}
	return kept
}

// splitVersion takes the segment that names the version out of the path of an
// address. Where the version is not known it is the first that looks like one.
func splitVersion(address, known string) (rest, version string) {
	u, err := url.Parse(address)
	if err != nil {
		return address, known
	}
	version = known
	segments := strings.Split(u.EscapedPath(), "/")
	for i, s := range segments {
		if s != "" && (s == known || known == "" && len(versionRank(s)) > 1) {
			version, segments = s, slices.Delete(segments, i, i+1)
			break
		}
	}
	return u.Host + strings.Join(segments, "/") + "?" + u.RawQuery, version
}

// What versions are ordered by first; a release's numbers follow.
const (
	rankUnreleased = iota + 1
	rankRelease
	rankNewest
	rankUnnamed
	rankCurrent
)

// versionRank orders versions: those that are not released, releases by their
// numbers, the newest release by name, and above all no version. A name that is
// none of these is below all releases and has no second number.
func versionRank(version string) []int {
	v := strings.ToLower(version)
	switch v {
	case "":
		return []int{rankUnnamed}
	case "next", "dev", "devel", "develop", "main", "master", "nightly", "edge", "head", "unreleased", "canary":
		return []int{rankUnreleased, 0}
	case "latest", "stable", "current":
		return []int{rankNewest, 0}
	}
	rank := []int{rankRelease}
	for part := range strings.SplitSeq(strings.TrimSuffix(strings.TrimPrefix(v, "v"), ".x"), ".") {
		n, err := strconv.Atoi(part)
		if err != nil || n < 0 || n >= 1000 {
			return rank[:1]
		}
		rank = append(rank, n)
	}
	return rank
}

// currentVersions are the versions that the sources call current.
func currentVersions(sources []SourceInfo) map[string]string {
	current := make(map[string]string, len(sources))
	for _, s := range sources {
		current[s.Source.Name] = cmp.Or(s.Source.Version.Current, s.Source.Version.Label)
	}
	return current
}
