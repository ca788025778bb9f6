#!/bin/sh
# Installs the packages of the lockfile and bundles the dashboard, both only after changes. `npm start` and `npm test` run
# this script first, so that a new clone needs no other step. The script prints to standard error, because standard output is
# for `--json`.
set -eu
cd "$(dirname "$0")/.."
stamp=node_modules/.chaperone-installed
if [ ! -f "$stamp" ] || ! cmp -s package-lock.json "$stamp"; then
  echo 'chaperone: installing packages (once, about 20 s) ...' >&2
  npm ci --no-audit --no-fund --loglevel=error >&2
  cp package-lock.json "$stamp"
fi
built=node_modules/.cache/chaperone/dashboard/manifest.json
if [ ! -f "$built" ] ||
  [ -n "$(find controlplane/dashboard scripts/build-dashboard.ts package-lock.json -newer "$built" -print -quit)" ]; then
  node_modules/.bin/node scripts/build-dashboard.ts >&2
fi
