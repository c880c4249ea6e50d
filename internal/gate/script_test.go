package gate_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	luaCall     = regexp.MustCompile(`redis\.p?call\(([^)]*)`)
	luaKey      = regexp.MustCompile(`^KEYS\[\d\]$`)
	luaDeclared = regexp.MustCompile(`\b(KEYS|ARGV)\[\d\]`)
)

// keyArgument says where a command has its key, and -1 for one without.
func keyArgument(command string) int {
	switch command {
	case "TIME":
		return -1
	case "XINFO", "XGROUP", "XPENDING":
		return 2
	}
	return 1
}

// scriptFaults names what breaks the rules of a script: a contract at the top
// that names every key and argument, and no key that is not declared.
func scriptFaults(name, source string) (faults []string) {
	var contract, body []string
	for line := range strings.Lines(source) {
		if len(body) == 0 && strings.HasPrefix(line, "--") {
			contract = append(contract, line)
			continue
		}
		code, _, _ := strings.Cut(line, "--")
		body = append(body, code)
	}
	head := strings.Join(contract, "")
	if !strings.HasPrefix(head, "-- "+name+" ") || !strings.Contains(head, "RETURNS") {
		faults = append(faults, "it does not start with its contract")
	}
	code := strings.Join(body, "")
	for _, used := range luaDeclared.FindAllString(code, -1) {
		if !strings.Contains(head, "-- "+used) {
			faults = append(faults, used+" is not in the contract")
		}
	}
	for _, call := range luaCall.FindAllStringSubmatch(code, -1) {
		args := strings.Split(call[1], ",")
		for i := range args {
			args[i] = strings.TrimSpace(args[i])
		}
		at := keyArgument(strings.Trim(args[0], `'"`))
		if at >= 0 && (at >= len(args) || !luaKey.MatchString(args[at])) {
			faults = append(faults, "the key of "+call[0]+") is not declared")
		}
	}
	return faults
}

// TestScriptsDeclareTheirKeys guards A3: a key that a script builds itself breaks
// on Redis Cluster.
func TestScriptsDeclareTheirKeys(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.lua")
	if err != nil || len(files) < 8 {
		t.Fatalf("found %v, %v", files, err)
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, fault := range scriptFaults(file, string(source)) {
			t.Errorf("%s: %s", file, fault)
		}
	}
}

func TestScriptFaultsAreFound(t *testing.T) {
	t.Parallel()
	const head = "-- a.lua does it.\n--\n-- KEYS[1]  k\n-- ARGV[1]  a\n--\n-- RETURNS 1\n\n"
	for name, test := range map[string]struct {
		source string
		faults int
	}{
		"good":                   {head + "redis.call('GET', KEYS[1]) -- 'GET', x\nreturn redis.pcall('TIME')\n", 0},
		"key put together":       {head + "redis.call('GET', 'v:' .. ARGV[1])\n", 1},
		"key from an argument":   {head + "redis.pcall('HSET', ARGV[1], 'a', 'b')\n", 1},
		"local key":              {head + "local k = KEYS[1]\nredis.call('GET', k)\n", 1},
		"group's key":            {head + "redis.call('XGROUP', 'DESTROY', ARGV[1], 'g')\n", 1},
		"undeclared":             {head + "return KEYS[2] .. ARGV[2]\n", 2},
		"no contract":            {"return redis.call('PING')\n", 2},
		"a first line for Redis": {"#!lua\n" + head + "return 1\n", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := scriptFaults("a.lua", test.source); len(got) != test.faults {
				t.Errorf("found %q, want %d faults", got, test.faults)
			}
		})
	}
}
