package npy

import (
	"strconv"
	"strings"
)

// literal reads the few forms of Python literals that headers are made of.
type literal struct {
	rest string
	err  error
}

func (p *literal) blanks() { p.rest = strings.TrimLeft(p.rest, " \t\r\n") }

func (p *literal) peek() byte {
	if p.blanks(); p.rest == "" {
		return 0
	}
	return p.rest[0]
}

func (p *literal) accept(s string) bool {
	p.blanks()
	rest, ok := strings.CutPrefix(p.rest, s)
	if ok && p.err == nil {
		p.rest = rest
		return true
	}
	return false
}

func (p *literal) want(s string) {
	if !p.accept(s) {
		p.fail(s)
	}
}

func (p *literal) fail(want string) {
	if p.err == nil {
		p.err = badHeader("want %s before %s", want, quoted(p.rest))
	}
}

func (p *literal) str() string {
	q := p.peek()
	if q != '\'' && q != '"' {
		p.fail("a string")
		return ""
	}
	s, rest, ok := strings.Cut(p.rest[1:], string(q))
	if !ok {
		p.fail("the end of a string")
		return ""
	}
	p.rest = rest
	return s
}

func (p *literal) boolean() bool {
	if p.accept("True") {
		return true
	}
	if !p.accept("False") {
		p.fail("True or False")
	}
	return false
}

// tuple reads (3, 4), (3,) or (); Python 2 wrote 3L.
func (p *literal) tuple() []int {
	v := []int{}
	p.want("(")
	for p.err == nil && !p.accept(")") {
		p.blanks()
		digits := p.rest[:len(p.rest)-len(strings.TrimLeft(p.rest, "0123456789"))]
		n, err := strconv.Atoi(digits)
		if err != nil {
			p.fail("a length")
			return nil
		}
		p.rest = strings.TrimPrefix(p.rest[len(digits):], "L")
		v = append(v, n)
		if !p.accept(",") {
			p.want(")")
			break
		}
	}
	return v
}

// quoted is a text in quotes, cut where it is longer than anyone wants to read.
func quoted(s string) string {
	const enough = 40
	if len(s) > enough {
		return strconv.Quote(s[:enough]) + "…"
	}
	return strconv.Quote(s)
}
