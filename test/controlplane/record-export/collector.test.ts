import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { stringify } from 'yaml'
import { hasCollector, installCollector, startCollector } from '../../support/collector/collector.ts'
import { eventually } from '../../support/eventually.ts'
import type { TestPostgres } from '../../support/postgres.ts'
import { size } from '../../support/proof.ts'
import { workerPostgres } from '../../support/worker-postgres.ts'
import { startExportWorld, startLogsStub, trafficRecord } from './world.ts'

const PAGE = join(import.meta.dirname, '../../../docs/production.md')
const RECORDS = size(2_000, 20_000)

/** The configuration of the documentation. */
function documented(): string {
  const block = /## Export of records[\s\S]*?```yaml\n([\s\S]*?)```/.exec(readFileSync(PAGE, 'utf8'))?.[1]
  if (block === undefined) throw new Error('the page has no configuration of a Collector')
  return block
}

/** Addresses of this machine, on top of the documented configuration. JSON lets the test read what the Collector sends on. */
function addresses(port: number, receiver: string): string {
  return stringify({
    receivers: { otlp: { protocols: { http: { endpoint: `127.0.0.1:${port}` } } } },
    exporters: { otlp_http: { logs_endpoint: receiver, encoding: 'json' } },
  })
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  if (address === null || typeof address === 'string') throw new Error('the server has no port')
  return address.port
}

describe.skipIf(!hasCollector)('the OpenTelemetry Collector (go; built by test:nightly)', () => {
  let postgres: TestPostgres
  let program: string
  const folder = mkdtempSync(join(tmpdir(), 'chaperone-collector-'))

  beforeAll(async () => {
    postgres = await workerPostgres()
    program = await installCollector()
  }, 900_000)
  afterAll(async () => {
    rmSync(folder, { recursive: true })
    await postgres.stop()
  })

  test('with the documented configuration passes on every record, over a restart and a failure of its receiver', async () => {
    await using world = await startExportWorld(postgres)
    await using stub = await startLogsStub()
    const port = await freePort()
    const configurations = [join(folder, 'documented.yaml'), join(folder, 'addresses.yaml')]
    writeFileSync(join(folder, 'documented.yaml'), documented())
    writeFileSync(join(folder, 'addresses.yaml'), addresses(port, stub.url))
    const collector = await startCollector(program, configurations)
    await world.replica(`http://127.0.0.1:${port}/v1/logs`)
    const stored: string[] = []
    const write = async (count: number) => {
      for (let n = 0; n < count; n += 50) {
        const batch = Array.from({ length: 50 }, () => trafficRecord())
        await world.store(batch)
        stored.push(...batch.map(({ id }) => id))
      }
    }

    const writing = write(RECORDS / 2)
    await eventually('the first records', () => (stub.accepted.length > 0 ? true : null))
    await collector.kill()
    await writing
    stub.replyWith(() => ({ status: stub.requests.length % 4 === 0 ? 503 : 200 }))
    await using _restarted = await startCollector(program, configurations)
    await write(RECORDS / 2)
    await world.drained(120_000)

    expect([...new Set(stub.accepted)].sort()).toEqual(stored.sort())
    const { sent, rejected, dropped, errors } = await world.destination()
    expect({ sent, rejected, dropped }).toEqual({ sent: stored.length, rejected: 0, dropped: 0 })
    // Only a request that ended in an error is repeated, with at most 500 records.
    expect(stub.accepted.length - stored.length).toBeLessThanOrEqual(errors * 500)
    expect(errors).toBeGreaterThan(0)
  })
})
