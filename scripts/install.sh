#!/bin/sh
# Installs the packages of the lockfile and bundles the dashboard, both only after changes. `npm start` and `npm test` run
# this script first, so that a new clone needs no other step. The script prints to standard error, because standard output is
# for `--json`.
set -eu
cd "$(dirname "$0")/.."
stamp=node_modules/.chaperone-installed
if [ ! -f "$stamp" ] || ! cmp -s package-lock.json "$stamp"; then
  echo 'chaperone: installing packages (once, about 20 s) ...' >&2
  log=$(mktemp)
  if ! npm ci --no-audit --no-fund --loglevel=error >"$log" 2>&1; then
    echo "chaperone: The packages were not installed: $(sed -n 's/^npm error //p' "$log" | grep -v '^A complete log' | tail -1)" >&2
    echo "Check that the registry answers ($(npm config get registry)), then run the command again. The output of npm: $log" >&2
    exit 1
  fi
  rm -f "$log"
  cp package-lock.json "$stamp"
fi
built=node_modules/.cache/chaperone/dashboard/manifest.json
if [ ! -f "$built" ] ||
  [ -n "$(find controlplane/dashboard scripts/build-dashboard.ts package-lock.json -newer "$built" -print -quit)" ]; then
  node_modules/.bin/node scripts/build-dashboard.ts >&2
fi
