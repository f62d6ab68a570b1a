package keysort

import "bytes"

// merge is a tree of losers: a comparison at each of its nodes has left the
// higher key there, and the lowest of all is the winner. The next one is found
// with one comparison on each level.
type merge struct {
	sources []*source
	losers  []int32 // by node; node 1 is the root, and leaf i is node len(sources)+i
	winner  int32
}

func (m *merge) begin(sources []*source) {
	n := len(sources)
	m.sources, m.winner = sources, 0
	m.losers = append(m.losers[:0], make([]int32, n)...)
	if n < 2 {
		return
	}
	// The winners of all nodes, from the leaves to the root.
	winners := make([]int32, 2*n)
	for i := range n {
		winners[n+i] = int32(i)
	}
	for node := n - 1; node > 0; node-- {
		a, b := winners[2*node], winners[2*node+1]
		if m.less(b, a) {
			a, b = b, a
		}
		winners[node], m.losers[node] = a, b
	}
	m.winner = winners[1]
}

// least is the source with the lowest key, nil when all have ended.
func (m *merge) least() *source {
	if len(m.sources) == 0 || m.sources[m.winner].ended {
		return nil
	}
	return m.sources[m.winner]
}

// moved is called when the least source has gone on, or ended.
func (m *merge) moved() {
	w := m.winner
	for node := (len(m.sources) + int(w)) / 2; node > 0; node /= 2 {
		if m.less(m.losers[node], w) {
			w, m.losers[node] = m.losers[node], w
		}
	}
	m.winner = w
}

// less compares keys; a source that has ended comes last.
func (m *merge) less(i, j int32) bool {
	a, b := m.sources[i], m.sources[j]
	if a.ended || b.ended {
		return !a.ended
	}
	return bytes.Compare(a.key, b.key) < 0
}
