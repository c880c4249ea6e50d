// Package scalar gives the schema's scalars their strict forms.
package scalar

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"time"

	"github.com/99designs/gqlgen/graphql"
)

// layout is ISO 8601 with milliseconds and Z: one form for every reader.
const layout = "2006-01-02T15:04:05.000Z07:00"

// MarshalDateTime writes a time in UTC with milliseconds.
func MarshalDateTime(t time.Time) graphql.Marshaler {
	return graphql.WriterFunc(func(w io.Writer) {
		_, _ = io.WriteString(w, strconv.Quote(t.UTC().Format(layout)))
	})
}

// UnmarshalDateTime reads RFC 3339. The offset is required.
func UnmarshalDateTime(v any) (time.Time, error) {
	s, ok := v.(string)
	if !ok {
		return time.Time{}, errors.New("a DateTime is a string such as \"2030-01-01T10:00:00+08:00\"")
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return time.Time{}, errors.New("a DateTime needs a date, a time and an offset, such as \"2030-01-01T10:00:00+08:00\"")
	}
	return t.UTC(), nil
}

// MarshalInt writes an Int. A number beyond 32 bits is an error of the server,
// not something to cut off.
func MarshalInt(i int) graphql.ContextMarshaler {
	return graphql.ContextWriterFunc(func(_ context.Context, w io.Writer) error {
		if i < math.MinInt32 || i > math.MaxInt32 {
			return fmt.Errorf("%d does not fit a 32-bit Int", i)
		}
		_, err := io.WriteString(w, strconv.Itoa(i))
		return err
	})
}

// UnmarshalInt reads a whole number of 32 bits, as GraphQL defines Int. Text and
// fractions are refused.
func UnmarshalInt(_ context.Context, v any) (int, error) {
	var i int64
	switch v := v.(type) {
	case int64:
		i = v
	case int:
		i = int64(v)
	case json.Number:
		n, err := v.Int64()
		if err != nil {
			return 0, fmt.Errorf("%s is not a whole number of 32 bits", v)
		}
		i = n
	default:
		return 0, fmt.Errorf("an Int is a whole number, not %T", v)
	}
	if i < math.MinInt32 || i > math.MaxInt32 {
		return 0, fmt.Errorf("%d does not fit a 32-bit Int", i)
	}
	return int(i), nil
}
