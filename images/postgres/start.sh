#!/bin/sh
# The bundled PostgreSQL: makes its files at the first start, then serves one role and one database, by password.
set -eu
bin=/postgres/native/bin
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  rm -rf "$PGDATA.new"
  "$bin/initdb" -D "$PGDATA.new" -U postgres --auth=reject -E UTF8 --locale=C
  # The superuser has no way in: what there is to make is made before anybody can connect.
  printf "create role chaperone login password '%s'\ncreate database chaperone owner chaperone\n" \
    "$(cat /etc/chaperone/postgres/password)" | "$bin/postgres" --single -D "$PGDATA.new" postgres >/dev/null
  echo 'host chaperone chaperone all scram-sha-256' >"$PGDATA.new/pg_hba.conf"
  mv "$PGDATA.new" "$PGDATA"
fi
exec "$bin/postgres" -D "$PGDATA" -c listen_addresses='*' -c unix_socket_directories=/tmp
