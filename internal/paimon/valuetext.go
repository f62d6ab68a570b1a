package paimon

import (
	"math"
	"strconv"
	"strings"
)

// civil turns days since 1970-01-01 into a date of the proleptic Gregorian
// calendar (the algorithm of Howard Hinnant's "chrono-Compatible Low-Level
// Date Algorithms").
func civil(days int64) (year int64, month, day int) {
	z := days + 719468
	era := floorDiv(z, 146097)
	doe := z - era*146097
	yoe := (doe - doe/1460 + doe/36524 - doe/146096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := (5*doy + 2) / 153
	day = int(doy-(153*mp+2)/5) + 1
	month = int(mp) + 3
	if month > 12 {
		month -= 12
	}
	year = yoe + era*400
	if month <= 2 {
		year++
	}
	return year, month, day
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

const millisPerDay = 24 * 60 * 60 * 1000

// appendPadded appends n with at least width digits.
func appendPadded(dst []byte, n int64, width int) []byte {
	if n < 0 {
		dst, n = append(dst, '-'), -n
	}
	digits := strconv.AppendInt(make([]byte, 0, 20), n, 10)
	for range width - len(digits) {
		dst = append(dst, '0')
	}
	return append(dst, digits...)
}

// appendDate appends yyyy-MM-dd.
func appendDate(dst []byte, days int64) []byte {
	y, m, d := civil(days)
	dst = append(appendPadded(dst, y, 4), '-')
	dst = append(appendPadded(dst, int64(m), 2), '-')
	return appendPadded(dst, int64(d), 2)
}

// appendClock appends HH, mm and ss of a millisecond of the day, with sep
// between them.
func appendClock(dst []byte, milli int64, sep byte) []byte {
	dst = append(appendPadded(dst, milli/3600_000, 2), sep)
	dst = append(appendPadded(dst, milli/60_000%60, 2), sep)
	return appendPadded(dst, milli/1000%60, 2)
}

// appendFraction appends digits digits of a nanosecond of the second.
func appendFraction(dst []byte, nanos int64, digits int) []byte {
	for range digits {
		dst = append(dst, byte('0'+nanos/100_000_000))
		nanos = nanos % 100_000_000 * 10
	}
	return dst
}

// split gives the day, the millisecond of the day and the nanosecond of the
// second.
func (v TimestampValue) split() (day, milli, nano int64) {
	day = floorDiv(v.Millis, millisPerDay)
	milli = v.Millis - day*millisPerDay
	return day, milli, milli%1000*1_000_000 + int64(v.Nanos)
}

// significant is how many of nine digits of a fraction remain without trailing
// zeros.
func significant(nano int64) int {
	n := 9
	for n > 0 && nano%10 == 0 {
		nano, n = nano/10, n-1
	}
	return n
}

// javaFloat is Java's text of a FLOAT or DOUBLE of that many bits.
func javaFloat(f float64, bits int) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	case f == 0:
		if math.Signbit(f) {
			return "-0.0"
		}
		return "0.0"
	}
	if a := math.Abs(f); a >= 1e-3 && a < 1e7 {
		s := strconv.FormatFloat(f, 'f', -1, bits)
		if !strings.Contains(s, ".") {
			s += ".0"
		}
		return s
	}
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(f, 'e', -1, bits), "e")
	if !strings.Contains(mantissa, ".") {
		// Java wants two digits and takes the best two: 4.9E-324, not 5.0E-324.
		mantissa, exponent, _ = strings.Cut(strconv.FormatFloat(f, 'e', 1, bits), "e")
	}
	e, _ := strconv.Atoi(exponent) // FormatFloat's own output
	return mantissa + "E" + strconv.Itoa(e)
}

// text is the plain decimal form with Scale digits after the point.
func (v DecimalValue) text() string { return string(appendUnscaled(nil, v.Unscaled.String(), v.Scale)) }

// appendUnscaled puts the point into the decimal digits of an unscaled value.
func appendUnscaled(dst []byte, digits string, scale int) []byte {
	if rest, ok := strings.CutPrefix(digits, "-"); ok {
		dst, digits = append(dst, '-'), rest
	}
	if scale <= 0 {
		return append(dst, digits...)
	}
	if pad := scale + 1 - len(digits); pad > 0 {
		digits = strings.Repeat("0", pad) + digits
	}
	dst = append(dst, digits[:len(digits)-scale]...)
	dst = append(dst, '.')
	return append(dst, digits[len(digits)-scale:]...)
}
