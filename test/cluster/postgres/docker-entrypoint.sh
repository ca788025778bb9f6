#!/bin/sh
# Stands in for the entry point of the official image of PostgreSQL: initializes the data directory at the first start,
# runs the scripts of /docker-entrypoint-initdb.d as the superuser, and starts the server with the arguments behind `postgres`.
set -eu
bin=/postgres/native/bin
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  "$bin/initdb" -D "$PGDATA" -U postgres --auth=reject -E UTF8 --locale=C
  cat /docker-entrypoint-initdb.d/*.sql | "$bin/postgres" --single -D "$PGDATA" postgres >/dev/null
fi
shift
exec "$bin/postgres" -D "$PGDATA" -c listen_addresses='*' -c unix_socket_directories=/tmp "$@"
