package server

import (
	"mime"
	"strconv"
	"strings"
)

// accepted picks the media type of an answer from an Accept header: the one
// with the highest weight, the first of equals. Clients that name none we know
// get JSON, which is what they had before the newer type existed.
func accepted(accept string) string {
	switch accept { // what nearly every client sends
	case "", "*/*", typeJSON, "application/json, */*":
		return typeJSON
	}
	best, bestWeight := typeJSON, 0.0
	for part := range strings.SplitSeq(accept, ",") {
		kind, params, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		weight := 1.0
		if q, err := strconv.ParseFloat(params["q"], 64); err == nil {
			weight = q
		}
		switch kind {
		case "*/*", "application/*":
			kind = typeJSON
		case typeJSON, typeGraphQL, typeEvents:
		default:
			continue
		}
		if weight > bestWeight {
			best, bestWeight = kind, weight
		}
	}
	return best
}
