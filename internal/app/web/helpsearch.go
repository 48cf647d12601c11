package web

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

// found is a section that a search found, with the text around the first word.
type found struct {
	Title, Address       string
	Before, Match, After string
	words, score         int // how many of the words are in it
}

// maxFound is how many sections a search shows.
const maxFound = 40

// maxQuery is more than anyone types.
const maxQuery = 200

// search fills in what was found.
func (s *shownHelp) search(g *guide, query string) {
	if len(query) > maxQuery {
		query = strings.ToValidUTF8(query[:maxQuery], "")
	}
	s.Query, s.Searched, s.Title = query, true, "“"+query+"” in the guide"
	words := strings.Fields(strings.ToLower(query))
	most := 0
	for _, p := range g.order {
		for _, section := range p.Sections {
			if f := match(section.Title, section.Text, p.Title, words); f.words > 0 {
				most = max(most, f.words)
				f.Title, f.Address = p.Title, p.Address
				if section.Title != p.Title && section.Title != "" {
					f.Title, f.Address = section.Title+" · "+p.Title, p.Address+"#"+section.Anchor
				}
				s.Found = append(s.Found, f)
			}
		}
	}
	s.Partly = most < len(words)
	s.Found = slices.DeleteFunc(s.Found, func(f found) bool { return f.words < most })
	slices.SortStableFunc(s.Found, func(a, b found) int { return cmp.Compare(b.score, a.score) })
	s.Found = s.Found[:min(len(s.Found), maxFound)]
}

// match looks for words in a section. One in a title counts most, then how often they are in the text.
func match(title, text, page string, words []string) found {
	f := found{Before: text}
	small, head, top := lower(text), lower(title), lower(page)
	first := -1
	for _, word := range words {
		n := strings.Count(small, word)
		switch {
		case head == word:
			f.score += 200
		case strings.Contains(head, word):
			f.score += 100
		case strings.Contains(top, word):
			f.score += 30
		case n == 0:
			continue
		}
		f.words++
		f.score += min(n, 10)
		if at := strings.Index(small, word); at >= 0 && (first < 0 || at < first) {
			first, f.Match = at, text[at:at+len(word)]
		}
	}
	f.around(text, first)
	return f
}

// lower is a text in small letters of the same lengths in bytes, so that places in one are those in the other.
func lower(text string) string {
	return strings.Map(func(c rune) rune {
		if small := []rune(strings.ToLower(string(c))); len(small) == 1 && utf8.RuneLen(small[0]) == utf8.RuneLen(c) {
			return small[0]
		}
		return c
	}, text)
}

// around cuts what stands around the match, at spaces.
func (f *found) around(text string, at int) {
	const before, after = 90, 170
	end := at + len(f.Match)
	if at < 0 {
		at, end = 0, 0
	}
	from, to := 0, len(text)
	if at > before {
		from = at - before + 1 + strings.IndexByte(text[at-before:at]+" ", ' ')
		from = min(from, at)
	}
	if to-end > after {
		to = end + max(0, strings.LastIndexByte(text[end:end+after], ' '))
	}
	f.Before, f.After = strings.ToValidUTF8(text[from:at], ""), strings.ToValidUTF8(text[end:to], "")
	if from > 0 {
		f.Before = "… " + f.Before
	}
	if to < len(text) {
		f.After += " …"
	}
}
