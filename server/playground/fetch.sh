#!/bin/sh
# Re-creates assets/ from pinned npm packages. It needs npm, openssl, tar and
# gzip, and fails when a package is not byte for byte the pinned one.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$here/assets"

# fetch NAME VERSION SHA512-IN-BASE64: leaves the package in $work/NAME.
fetch() {
	(cd "$work" && npm pack --silent "$1@$2" >/dev/null)
	got=$(openssl dgst -sha512 -binary "$work/$1-$2.tgz" | openssl base64 -A)
	if [ "$got" != "$3" ]; then
		echo "$1 $2 has sha512 $got, pinned is $3" >&2
		exit 1
	fi
	mkdir "$work/$1"
	tar -xzf "$work/$1-$2.tgz" -C "$work/$1" --strip-components=1
}

# keep NAME FILE: stores a package's file compressed. -n leaves the time out,
# so that the result is the same each time.
keep() { gzip -9 -n -c "$work/$1/$2" >"$here/assets/$(basename "$2").gz"; }

fetch graphiql 4.1.2 rNlzQIAzm6i2KBXmVQWBgLvt0TloxFVB2d18bukvdsvjEuFDHsKx5IVOomL1W1o5WW+tE54+ioHb2AEKzO2cUg==
fetch react 18.2.0 /3IjMdb2L9QbBdWiW5e3P2/npwMBaU9mHCSCUzNln0ZCYbcfTsGbTJrU/kGemdH2IWmB2ioZ+zkxtmq6g09fGQ==
fetch react-dom 18.2.0 6IMTriUmvsjHUjNtEDudZfuDQUoWXVxKHhlEGSk81n4YFS+r/Kl99wXiwlVXtPBtJenozv2P+hxDsw9eA7Xo6g==

keep graphiql graphiql.min.js
keep graphiql graphiql.min.css
keep react umd/react.production.min.js
keep react-dom umd/react-dom.production.min.js
for name in graphiql react react-dom; do
	cp "$work/$name/LICENSE" "$here/assets/LICENSE.$name.txt"
done
