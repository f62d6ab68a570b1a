package row

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// PartitionValue returns the text Fluss has for the value v of a partition
// column of type t: "2024-01-01" for a DATE, "1_5" for a DOUBLE of 1.5. See
// FromValues for the Go types of values. It refuses null, types that can't be
// partition columns, and years outside 0 to 9999, whose text is not known. It
// does not check that the text may be part of a partition's name.
func PartitionValue(t DataType, v any) (string, error) {
	text, err := partitionText(t, v)
	if err != nil {
		return "", fmt.Errorf("fluss: row: partition value of type %s: %w", t, err)
	}
	return text, nil
}

func partitionText(t DataType, v any) (string, error) {
	if v == nil {
		return "", errNull
	}
	switch t.Kind {
	case Boolean:
		return text(v, strconv.FormatBool)
	case TinyInt:
		return text(v, func(x int8) string { return strconv.FormatInt(int64(x), 10) })
	case SmallInt:
		return text(v, func(x int16) string { return strconv.FormatInt(int64(x), 10) })
	case Int:
		return text(v, func(x int32) string { return strconv.FormatInt(int64(x), 10) })
	case BigInt:
		return text(v, func(x int64) string { return strconv.FormatInt(x, 10) })
	case Float:
		return text(v, func(x float32) string { return floatText(float64(x), 32) })
	case Double:
		return text(v, func(x float64) string { return floatText(x, 64) })
	case Char, String:
		return text(v, func(x string) string { return x })
	case Binary, Bytes:
		return text(v, hex.EncodeToString)
	case Date:
		x, err := as[DateValue](v)
		if err != nil {
			return "", err
		}
		return timeText(time.Unix(int64(x)*86400, 0), "2006-01-02")
	case Time:
		x, err := as[TimeValue](v)
		if err != nil {
			return "", err
		}
		if x < 0 || x >= 86_400_000 {
			return "", fmt.Errorf("found %d milliseconds of the day, need 0 to 86399999", x)
		}
		clock, err := timeText(time.UnixMilli(int64(x)), "15-04-05")
		return fmt.Sprintf("%s_%03d", clock, x%1000), err
	case Timestamp, TimestampLTZ:
		x, err := as[TimestampValue](v)
		if err != nil {
			return "", err
		}
		at := time.UnixMilli(x.Millis)
		seconds, err := timeText(at, "2006-01-02-15-04-05")
		if err != nil {
			return "", err
		}
		if x.Nanos < 0 || x.Nanos > 999_999 {
			return "", fmt.Errorf("found %d nanoseconds within the millisecond, need 0 to 999999", x.Nanos)
		}
		fraction := fmt.Sprintf("%09d", at.Nanosecond()+int(x.Nanos))
		return seconds + "_" + strings.TrimRight(fraction, "0"), nil
	}
	return "", errors.New("no partition column can have this type")
}

func text[T any](v any, format func(T) string) (string, error) {
	x, err := as[T](v)
	if err != nil {
		return "", err
	}
	return format(x), nil
}

func timeText(at time.Time, layout string) (string, error) {
	at = at.UTC()
	if y := at.Year(); y < 0 || y > 9999 {
		return "", fmt.Errorf("found year %d, need 0 to 9999", y)
	}
	return at.Format(layout), nil
}

// floatText is the text Java gives a number, with '_' for the decimal point:
// the shortest digits that read back as x, but two at least, plain from 10^-3
// up to 10^7 and with an exponent otherwise.
func floatText(x float64, bits int) string {
	switch {
	case math.IsNaN(x):
		return "NaN"
	case math.IsInf(x, 1):
		return "Inf"
	case math.IsInf(x, -1):
		return "-Inf"
	}
	s := strconv.FormatFloat(x, 'e', -1, bits)
	if !strings.Contains(s, ".") {
		s = strconv.FormatFloat(x, 'e', 1, bits)
	}
	if abs := math.Abs(x); abs == 0 || abs >= 1e-3 && abs < 1e7 {
		if s = strconv.FormatFloat(x, 'f', -1, bits); !strings.Contains(s, ".") {
			s += ".0"
		}
	} else {
		mantissa, exponent, _ := strings.Cut(s, "e")
		e, _ := strconv.Atoi(exponent) // drops the plus sign and leading zeros
		s = mantissa + "E" + strconv.Itoa(e)
	}
	return strings.Replace(s, ".", "_", 1)
}
