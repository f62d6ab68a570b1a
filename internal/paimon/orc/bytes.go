package orc

import "unicode/utf8"

const (
	// maxDictionary bounds the bytes of a stripe's dictionary, and
	// maxDictionaryEntries its values.
	maxDictionary        = 512 << 20
	maxDictionaryEntries = 1 << 26
)

// bytesColumn reads STRING, VARCHAR, CHAR and BINARY.
type bytesColumn struct {
	base
	data    stream    // DATA of direct encodings, DICTIONARY_DATA of others
	lengths intReader // LENGTH
	index   intReader // DATA of dictionary encodings

	dictionary bool
	dict       []byte // with padding behind
	ends       []int32
	scratch    []int64
}

func (c *bytesColumn) begin(s *stripe) error {
	c.beginBase(s)
	e, err := s.encoding(c.node, encDirect, encDirectV2, encDictionary, encDictionaryV2)
	if err != nil {
		return err
	}
	c.dictionary = e == encDictionary || e == encDictionaryV2
	s.bind(&c.lengths.stream, c.node, streamLength)
	c.lengths.begin(e, false)
	if !c.dictionary {
		s.bind(&c.data, c.node, streamData)
		return nil
	}
	if c.node.kind == kindBinary {
		return corruptf("dictionary encoding of a column of type %s", c.node.kind)
	}
	s.bind(&c.data, c.node, streamDictionary)
	s.bind(&c.index.stream, c.node, streamData)
	c.index.begin(e, false)
	return c.readDictionary(int64(s.columns[c.node.id].GetDictionarySize()))
}

// readDictionary reads a dictionary of n values. It takes memory as the
// streams go on, not for what they claim.
func (c *bytesColumn) readDictionary(n int64) error {
	if n > maxDictionaryEntries {
		return unsupportedf("a dictionary of %d values, at most %d", n, maxDictionaryEntries)
	}
	c.ends = append(c.ends[:0], 0)
	c.scratch = grow(c.scratch, maxRun)
	end := int64(0)
	for n > 0 {
		k := min(n, maxRun)
		if err := c.lengths.read(c.scratch[:k]); err != nil {
			return where("LENGTH", err)
		}
		for _, l := range c.scratch[:k] {
			if l < 0 || l > maxDictionary-end {
				return unsupportedf("a dictionary with a value of %d bytes behind %d, at most %d together", uint64(l), end, maxDictionary)
			}
			end += l
			c.ends = append(c.ends, int32(end))
		}
		n -= k
	}
	var err error
	if c.dict, err = c.data.appendTo(c.dict[:0], int(end)); err != nil {
		return where("DICTIONARY_DATA", err)
	}
	if c.node.length > 0 {
		c.dict = c.limit(c.dict, c.ends[1:])
	}
	c.dict = grow(c.dict, len(c.dict)+padding)[:len(c.dict)]
	return nil
}

func (c *bytesColumn) read(n int, absent []bool) error {
	k, err := c.slots(n, absent)
	if err != nil {
		return err
	}
	c.v.Offsets = grow(c.v.Offsets, n+1)
	c.v.Offsets[0] = 0
	c.scratch = grow(c.scratch, k)
	if c.dictionary {
		err = c.lookup(n)
	} else {
		err = c.copy(n)
	}
	return err
}

// copy reads values of direct encodings.
func (c *bytesColumn) copy(n int) error {
	if err := c.lengths.read(c.scratch); err != nil {
		return where("LENGTH", err)
	}
	total, most := int64(0), uint64(c.limits.bytes)
	for _, l := range c.scratch {
		if uint64(l) > most { // negative too
			return c.limits.checkBytes(max(l, int64(most)+1))
		}
		total += l
	}
	if err := c.limits.checkBytes(total); err != nil {
		return err
	}
	ends, end := c.v.Offsets[1:n+1], int32(0)
	if c.v.Nulls == nil {
		for i, l := range c.scratch {
			end += int32(l)
			ends[i] = end
		}
	} else {
		next := 0
		for i, null := range c.v.Nulls {
			if !null {
				end += int32(c.scratch[next])
				next++
			}
			ends[i] = end
		}
	}
	var err error
	if c.v.Data, err = c.data.appendTo(c.v.Data[:0], int(total)); err != nil {
		return where("DATA", err)
	}
	if c.node.length > 0 {
		c.v.Data = c.limit(c.v.Data, ends)
	}
	return nil
}

// lookup reads values of dictionary encodings.
func (c *bytesColumn) lookup(n int) error {
	if err := c.index.read(c.scratch); err != nil {
		return where("DATA", err)
	}
	total, starts := int64(0), c.ends
	for _, i := range c.scratch {
		if uint64(i) >= uint64(len(starts)-1) {
			return corruptf("stream DATA: the dictionary index %d, the dictionary has %d values", uint64(i), len(starts)-1)
		}
		total += int64(starts[i+1] - starts[i])
	}
	if err := c.limits.checkBytes(total); err != nil {
		return err
	}
	out := grow(c.v.Data[:0], int(total)+padding)
	dict := c.dict[:len(c.dict)+padding]
	ends, at := c.v.Offsets[1:n+1], 0
	if c.v.Nulls == nil {
		for k, i := range c.scratch {
			size := int(starts[i+1] - starts[i])
			copyShort(out[at:], dict[starts[i]:], size)
			at += size
			ends[k] = int32(at)
		}
	} else {
		next := 0
		for k, null := range c.v.Nulls {
			if !null {
				i := c.scratch[next]
				next++
				size := int(starts[i+1] - starts[i])
				copyShort(out[at:], dict[starts[i]:], size)
				at += size
			}
			ends[k] = int32(at)
		}
	}
	c.v.Data = out[:total]
	return nil
}

// copyShort copies n bytes. Both slices have at least padding bytes more than
// n, and what is behind the n bytes of dst is not in use: short values, which
// most are, move as one block.
func copyShort(dst, src []byte, n int) {
	if n <= padding {
		*(*[padding]byte)(dst) = *(*[padding]byte)(src)
	} else {
		copy(dst[:n], src[:n])
	}
}

// limit gives the values, which end at ends, the form that their type has in
// Java's reader: no more characters than its length, and for CHAR no trailing
// blanks. It moves them together and returns what is left of data.
func (c *bytesColumn) limit(data []byte, ends []int32) []byte {
	from, to := int32(0), int32(0)
	for i, end := range ends {
		value := data[from:end]
		from = end
		if c.node.kind == kindChar {
			n := len(value)
			for n > 0 && value[n-1] == ' ' {
				n--
			}
			value = value[:n]
		}
		if len(value) > c.node.length {
			value = cut(value, c.node.length)
		}
		to += int32(copy(data[to:], value))
		ends[i] = to
	}
	return data[:to]
}

// cut returns the first n characters.
func cut(value []byte, n int) []byte {
	at := 0
	for ; n > 0 && at < len(value); n-- {
		_, size := utf8.DecodeRune(value[at:])
		at += size
	}
	return value[:at]
}

func (c *bytesColumn) size() int { return len(c.v.Data) + 4*c.v.Len }

func (c *bytesColumn) release() {
	c.base.release()
	c.data.release()
	c.lengths.release()
	c.index.release()
}
