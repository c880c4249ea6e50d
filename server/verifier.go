package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/flashclaim/flashclaim/internal/sale"
)

// MinSecret is the length of the shortest secret that signs tokens, in bytes:
// an HS256 key shorter than its hash can be searched for.
const MinSecret = 32

// Bounds of a token.
const (
	maxToken    = 4 << 10         // bytes; checked before anything is parsed
	tokenLeeway = 5 * time.Second // by which clocks may differ
)

// Pass is what a valid token says.
type Pass struct {
	Viewer    sale.Viewer
	ExpiresAt time.Time
}

// Verifier checks and signs tokens: JWTs with HS256 and one secret. The
// algorithm is pinned, exp is required, sub is the buyer, and roles come from
// the claim "roles" (a list) or "role" (one). It is safe for concurrent use.
type Verifier struct {
	secret []byte
	parser *jwt.Parser
	known  *passCache
	now    func() time.Time
}

// NewVerifier makes a verifier. The error says that the secret is shorter than
// [MinSecret].
func NewVerifier(secret []byte) (*Verifier, error) { return newVerifier(secret, time.Now) }

func newVerifier(secret []byte, now func() time.Time) (*Verifier, error) {
	if len(secret) < MinSecret {
		return nil, fmt.Errorf("the JWT secret has %d bytes; it needs at least %d random ones", len(secret), MinSecret)
	}
	return &Verifier{
		secret: slices.Clone(secret),
		parser: jwt.NewParser(
			jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Alg()}),
			jwt.WithExpirationRequired(),
			jwt.WithLeeway(tokenLeeway),
			jwt.WithTimeFunc(now),
		),
		known: newPassCache(passCacheSize),
		now:   now,
	}, nil
}

// claims is the part of a token that is read.
type claims struct {
	jwt.RegisteredClaims
	Roles roles `json:"roles,omitempty"`
	Role  roles `json:"role,omitempty"`
}

// roles reads one role or a list of them.
type roles []sale.Role

// UnmarshalJSON accepts a string or an array of strings.
func (r *roles) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		*r = make(roles, 1)
		return json.Unmarshal(data, &(*r)[0])
	}
	return json.Unmarshal(data, (*[]sale.Role)(r))
}

// Verify checks a token, with or without "Bearer " in front of it. Every error
// is [sale.ErrUnauthenticated] to errors.Is, and its sentence may be shown.
func (v *Verifier) Verify(authorization string) (Pass, error) {
	token := bareToken(authorization)
	if len(token) > maxToken {
		return Pass{}, invalidToken(nil, "the token is longer than %d bytes", maxToken)
	}
	if pass, ok := v.known.get(token, v.now()); ok {
		return pass, nil
	}
	var c claims
	if _, err := v.parser.ParseWithClaims(token, &c, v.key); err != nil {
		return Pass{}, invalidToken(err, "%s", tokenFault(err))
	}
	if fault := sale.BuyerIDFault(c.Subject); fault != "" {
		return Pass{}, invalidToken(nil, "the token's subject %s", fault)
	}
	pass := Pass{
		Viewer:    sale.Viewer{BuyerID: c.Subject, Roles: slices.Concat([]sale.Role(c.Roles), []sale.Role(c.Role))},
		ExpiresAt: c.ExpiresAt.Time,
	}
	v.known.put(token, pass)
	return pass, nil
}

// Sign makes a token for a buyer that is valid for ttl from now. The error says
// what is wrong with the buyer's name or the ttl.
func (v *Verifier) Sign(buyer string, granted []sale.Role, ttl time.Duration) (string, error) {
	if fault := sale.BuyerIDFault(buyer); fault != "" {
		return "", fmt.Errorf("the buyer's name %s", fault)
	}
	if ttl <= 0 {
		return "", fmt.Errorf("a token's time to live must be positive, not %s", ttl)
	}
	now := v.now()
	return jwt.NewWithClaims(jwt.SigningMethodHS256, claims{
		RegisteredClaims: jwt.RegisteredClaims{
			Subject:   buyer,
			IssuedAt:  jwt.NewNumericDate(now),
			ExpiresAt: jwt.NewNumericDate(now.Add(ttl)),
		},
		Roles: granted,
	}).SignedString(v.secret)
}

func (v *Verifier) key(*jwt.Token) (any, error) { return v.secret, nil }

// bareToken cuts the scheme off; its name is case-insensitive in HTTP.
func bareToken(authorization string) string {
	const scheme = "bearer "
	authorization = strings.TrimSpace(authorization)
	if len(authorization) >= len(scheme) && strings.EqualFold(authorization[:len(scheme)], scheme) {
		return strings.TrimSpace(authorization[len(scheme):])
	}
	return authorization
}

func invalidToken(cause error, format string, args ...any) error {
	return &sale.Error{Code: sale.CodeUnauthenticated, Message: fmt.Sprintf(format, args...), Cause: cause}
}

// tokenFault says what a client can do about it; what exactly did not match is
// nobody's business.
func tokenFault(err error) string {
	switch {
	case errors.Is(err, jwt.ErrTokenExpired):
		return "the token has expired; get a new one"
	case errors.Is(err, jwt.ErrTokenNotValidYet):
		return "the token is not valid yet"
	case errors.Is(err, jwt.ErrTokenRequiredClaimMissing):
		return "the token has no expiry (exp)"
	}
	return "the token is not valid"
}
