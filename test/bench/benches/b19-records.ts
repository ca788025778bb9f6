import type { Db } from '../../../controlplane/db/query.ts'
import { testAgent } from '../../support/agent.ts'
import { eventually } from '../../support/eventually.ts'
import { type Laptop, startLaptop } from '../../support/laptop.ts'
import { descendant } from '../../support/processes.ts'
import type { Bench } from '../main.ts'
import { benchManifests } from '../support/chaperone-subject.ts'
import { openLaptopDatabase } from '../support/laptop-database.ts'
import { closedLoop } from '../support/load.ts'
import { treeCpuUs } from '../support/measure.ts'
import { absolute } from '../support/report.ts'

const CONNECTIONS = 32

/**
 * What a record of an allowed request costs behind the gateway: CPU of the control plane and of PostgreSQL until it is
 * stored, and bytes of the table with its indexes. The gateway sends requests as fast as it can, so its uploads are full.
 */
export const records: Bench = async ({ bed, isQuick }) => {
  const size = isQuick ? 10_000 : 100_000
  const laptop = await startLaptop({ manifests: { 'bench.yaml': benchManifests(bed, ['llm_a.*']) } })
  const db = await openLaptopDatabase(laptop)
  try {
    const { target } = testAgent(laptop)
    await closedLoop(target, CONNECTIONS, size / 5)
    await untilStored(db, size / 5)
    const [plane, postgres] = [pidOf(laptop, 'controlplane/main'), pidOf(laptop, 'postgres')]
    const cpuBefore = [treeCpuUs(plane), treeCpuUs(postgres)] as const
    const bytesBefore = await tableBytes(db)
    await closedLoop(target, CONNECTIONS, size)
    await untilStored(db, size + size / 5)
    const bytes = (await tableBytes(db)) - bytesBefore
    return [
      absolute('B19', 'control plane: CPU us per record', (treeCpuUs(plane) - cpuBefore[0]) / size, 20),
      absolute('B19', 'PostgreSQL: CPU us per record', (treeCpuUs(postgres) - cpuBefore[1]) / size, null),
      absolute('B19', 'PostgreSQL: bytes per record, indexes included', bytes / size, null),
    ]
  } finally {
    await db.close()
    await laptop.stop()
  }
}

function pidOf(laptop: Laptop, part: string): number {
  const pid = descendant(laptop.pid, part)
  if (pid === null) throw new Error(`the process ${part} of the installation was not found`)
  return pid
}

/** Reads the statistics of the tables, because counting rows would take CPU time of the database that is measured. */
function untilStored(db: Db, count: number): Promise<true> {
  return eventually(
    `${count} records are stored`,
    async () => {
      const { rows } = await db.query<{ count: number }>(
        `select coalesce(sum(n_tup_ins), 0)::int as count from pg_stat_user_tables
         where relid in (select relid from pg_partition_tree('traffic'))`,
        [],
      )
      return (rows[0]?.count ?? 0) >= count ? true : null
    },
    60_000,
  )
}

async function tableBytes(db: Db): Promise<number> {
  const { rows } = await db.query<{ bytes: number }>(
    "select sum(pg_total_relation_size(relid))::float8 as bytes from pg_partition_tree('traffic') where isleaf",
    [],
  )
  return rows[0]?.bytes ?? 0
}
