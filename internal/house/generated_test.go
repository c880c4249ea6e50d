package house

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestGeneratedCodeIsFresh generates everything again in a copy of the tree and
// compares. It fails after a change to a schema, gqlgen.yml or a generator's
// version that was not followed by `make generate`.
func TestGeneratedCodeIsFresh(t *testing.T) {
	t.Parallel()
	root, copied := moduleRoot(t), t.TempDir()
	before := copyTree(t, root, copied)
	if !generates(before) {
		t.Fatal("no file has a go:generate line; this test would prove nothing")
	}
	goCommand(t, copied, "generate", "./...")
	if stale := differences(before, readTree(t, copied)); len(stale) > 0 {
		t.Errorf("run `make generate`; these files are not what their schemas generate:\n%s", strings.Join(stale, "\n"))
	}
}

// tree is a folder's files by their path.
type tree map[string][]byte

func readTree(t *testing.T, root string) tree {
	t.Helper()
	files := tree{}
	for _, file := range sourceFiles(t, root) {
		files[file] = read(t, root, file)
	}
	return files
}

func copyTree(t *testing.T, from, to string) tree {
	t.Helper()
	files := readTree(t, from)
	for file, data := range files {
		path := filepath.Join(to, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

func generates(files tree) bool {
	for file, data := range files {
		if filepath.Base(file) == "generate.go" && bytes.Contains(data, []byte("\n//go:generate ")) {
			return true
		}
	}
	return false
}

// differences lists what generating changed, sorted.
func differences(before, after tree) []string {
	var found []string
	for file, data := range after {
		switch was, ok := before[file]; {
		case !ok:
			found = append(found, file+" is new")
		case !bytes.Equal(was, data):
			found = append(found, file+" differs")
		}
	}
	for file := range before {
		if _, ok := after[file]; !ok {
			found = append(found, file+" is gone")
		}
	}
	slices.Sort(found)
	return found
}

func TestStaleFilesAreReported(t *testing.T) {
	t.Parallel()
	before := tree{"same.go": []byte("a"), "stale.go": []byte("a"), "surplus.go": []byte("a")}
	after := tree{"same.go": []byte("a"), "stale.go": []byte("b"), "missing.go": []byte("a")}
	want := []string{"missing.go is new", "stale.go differs", "surplus.go is gone"}
	if diff := cmp.Diff(want, differences(before, after)); diff != "" {
		t.Errorf("differences (-want +got):\n%s", diff)
	}
}
