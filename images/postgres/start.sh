#!/bin/sh
# Runs the bundled PostgreSQL. Initializes the data directory at the first start; serves one role and one database with
# password authentication.
set -eu
bin=/postgres/native/bin
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  rm -rf "$PGDATA.new"
  "$bin/initdb" -D "$PGDATA.new" -U postgres --auth=reject -E UTF8 --locale=C
  # The superuser cannot connect, so role and database are created in single-user mode before the server listens.
  printf "create role chaperone login password '%s'\ncreate database chaperone owner chaperone\n" \
    "$(cat /etc/chaperone/postgres/password)" | "$bin/postgres" --single -D "$PGDATA.new" postgres >/dev/null
  echo 'host chaperone chaperone all scram-sha-256' >"$PGDATA.new/pg_hba.conf"
  mv "$PGDATA.new" "$PGDATA"
fi
exec "$bin/postgres" -D "$PGDATA" -c listen_addresses='*' -c unix_socket_directories=/tmp
