//go:build unix

package testenv

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	osuser "os/user"
	"path/filepath"
	"strconv"
)

var (
	errNoRedis = errors.New("redis-server is not installed: install Debian's package redis-server " +
		"(`make test` does it as root), or set " + redisVariable + " to a running server")
	errNoPostgres = errors.New("PostgreSQL is not installed: install Debian's package postgresql " +
		"(`make test` does it as root), or set " + databaseVariable + " to a running server")
)

func redisProgram() (string, error) {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return "", errNoRedis
	}
	return path, nil
}

// postgresPrograms finds the folder that has postgres and initdb of the same
// version: behind the postgres in PATH, else where Debian keeps the newest.
func postgresPrograms() (string, error) {
	if path, err := exec.LookPath("postgres"); err == nil {
		if target, err := filepath.EvalSymlinks(path); err == nil && hasInitdb(filepath.Dir(target)) {
			return filepath.Dir(target), nil
		}
	}
	folders, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil {
		return "", err
	}
	newest, newestVersion := "", -1
	for _, folder := range folders {
		version, err := strconv.Atoi(filepath.Base(filepath.Dir(folder)))
		if err == nil && version > newestVersion && hasInitdb(folder) {
			newest, newestVersion = folder, version
		}
	}
	if newest == "" {
		return "", errNoPostgres
	}
	return newest, nil
}

func hasInitdb(folder string) bool {
	_, err := exec.LookPath(filepath.Join(folder, "initdb"))
	return err == nil
}

// user is an account to run a program as.
type user struct{ uid, gid uint32 }

// postgresUser is the account for PostgreSQL, which refuses to run as root; nil
// when the test does not run as root.
func postgresUser() (*user, error) {
	if os.Geteuid() != 0 {
		return nil, nil //nolint:nilnil // nil is the documented answer
	}
	for _, name := range []string{"postgres", "nobody"} {
		account, err := osuser.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(account.Uid, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("account %s: %w", name, err)
		}
		gid, err := strconv.ParseUint(account.Gid, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("account %s: %w", name, err)
		}
		return &user{uid: uint32(uid), gid: uint32(gid)}, nil
	}
	return nil, errors.New("PostgreSQL refuses to run as root, and there is no account postgres or nobody to run it as")
}
