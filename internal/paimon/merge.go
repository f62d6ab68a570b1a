package paimon

import "context"

// merger merges sorted runs: of the records of one key the one with the
// highest sequence number counts, and is dropped if it is a retraction.
//
// A run whose batch is used up is read on only at the next fill, so that all
// rows given out by one fill stay valid together.
type merger struct {
	rows  *Rows
	runs  []*run
	heap  []*run // of runs with rows left in their batch, least key first
	empty []*run // runs to be read on
	group uint64
}

func newMerger(rows *Rows, runs []*run) *merger {
	m := &merger{rows: rows, runs: runs, empty: append([]*run{}, runs...)}
	for i, r := range runs {
		r.index = int32(i)
	}
	return m
}

// less orders runs by the key they stand at. Among equal keys, a run that has
// already given rows of that key comes last, so that each group of one key
// takes one row of each run, as Paimon's merge does.
func (m *merger) less(a, b *run) bool {
	if a.head != b.head {
		return a.head < b.head
	}
	if !m.rows.order.exact {
		if c := m.rows.order.compare(a.keys, a.pos, b.keys, b.pos); c != 0 {
			return c < 0
		}
	}
	if x, y := a.generation(a.pos), b.generation(b.pos); x != y {
		return x < y
	}
	return a.index < b.index
}

func (m *merger) sameKey(a *run, i int, b *run, j int) bool {
	if a.prefix[i] != b.prefix[j] {
		return false
	}
	return m.rows.order.exact || m.rows.order.compare(a.keys, i, b.keys, j) == 0
}

func (m *merger) down(i int) {
	h := m.heap
	for {
		least := i
		if c := 2*i + 1; c < len(h) && m.less(h[c], h[least]) {
			least = c
		}
		if c := 2*i + 2; c < len(h) && m.less(h[c], h[least]) {
			least = c
		}
		if least == i {
			return
		}
		h[i], h[least] = h[least], h[i]
		i = least
	}
}

// moveTop sets the top run to row pos of its batch; false when that is past
// the batch's end, and the run has left the heap.
func (m *merger) moveTop(pos int) bool {
	top := m.heap[0]
	top.pos = pos
	if pos < top.n {
		top.head = top.prefix[pos]
		m.down(0)
		return true
	}
	m.empty = append(m.empty, top)
	last := len(m.heap) - 1
	m.heap[0] = m.heap[last]
	m.heap = m.heap[:last]
	m.down(0)
	return false
}

// fill gives the next rows; false at the end. It may give none and true.
func (m *merger) fill(ctx context.Context, refs *Refs) (bool, error) {
	for _, r := range m.empty {
		more, err := r.load(ctx)
		if err != nil {
			return false, err
		}
		if more {
			r.head = r.prefix[0]
			m.heap = append(m.heap, r)
		}
	}
	m.empty = m.empty[:0]
	if len(m.heap) == 0 {
		return false, nil
	}
	for i := len(m.heap)/2 - 1; i >= 0; i-- {
		m.down(i)
	}
	refs.Batches, refs.Loads = refs.Batches[:0], refs.Loads[:0]
	for _, r := range m.runs {
		refs.Batches, refs.Loads = append(refs.Batches, r.columns), append(refs.Loads, r.loaded)
	}
	for len(m.empty) == 0 {
		if !m.alone(refs) {
			m.one(refs)
		}
	}
	return true, nil
}

// alone gives the rows of the top run whose keys are below those of all other
// runs; false when there are none. Such rows are the only ones of their key.
func (m *merger) alone(refs *Refs) bool {
	top := m.heap[0]
	first, n := top.pos, top.n
	pos := first
	if len(m.heap) > 1 {
		limit := m.heap[1].head
		if len(m.heap) > 2 {
			limit = min(limit, m.heap[2].head)
		}
		for pos < n && top.prefix[pos] < limit {
			pos++
		}
	} else {
		pos = n
	}
	if pos == first {
		return false
	}
	for i := first; i < pos; i++ {
		if top.kinds == nil || top.kinds[i]&1 == 0 {
			refs.Src = append(refs.Src, top.index)
			refs.Pos = append(refs.Pos, int32(i))
		}
	}
	m.moveTop(pos)
	return true
}

// one takes a row of each run that stands at the least key, and gives the one
// that counts.
func (m *merger) one(refs *Refs) {
	m.group++
	best, at := m.heap[0], m.heap[0].pos
	for next := best; ; {
		next.stamp = m.group
		m.moveTop(next.pos + 1)
		if len(m.heap) == 0 {
			break
		}
		// A run whose batch is used up keeps it until the next fill, so best
		// can still be compared with.
		if next = m.heap[0]; next.stamp == m.group || !m.sameKey(next, next.pos, best, at) {
			break
		}
		if s, t := next.sequence[next.pos], best.sequence[at]; s > t || s == t && next.file.Level < best.file.Level {
			best, at = next, next.pos
		}
	}
	if best.kinds == nil || best.kinds[at]&1 == 0 {
		refs.Src = append(refs.Src, best.index)
		refs.Pos = append(refs.Pos, int32(at))
	}
}
