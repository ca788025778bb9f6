import { execFileSync, spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { end, rssMib } from '../../support/processes.ts'
import type { Bench, BenchContext } from '../main.ts'
import { startDurableBed, startPlane } from '../support/durable-bed.ts'
import { median } from '../support/measure.ts'
import { absolute, type Row } from '../support/report.ts'

const ROOT = new URL('../../../', import.meta.url).pathname
const STARTS = 12

/** From spawning the gateway until it says that it serves, with its files in place: as shipped, in one file. */
export const sidecar: Bench = async ({ bed: { folder } }: BenchContext): Promise<readonly Row[]> => {
  const out = join(folder, 'dist')
  execFileSync(process.execPath, [join(ROOT, 'scripts/build.ts'), '--out', out], { stdio: 'ignore' })
  await using bed = await startDurableBed(join(folder, 'b12'))
  const plane = await startPlane(bed, bed.postgres.url)
  const bundled = await starts(join(out, 'bin/sidecar.cjs'), { folder: bed.folder, port: plane.port })
  await end(plane.child)
  const bare = await bareStart(folder)
  return [
    absolute('B12', 'sidecar ready: ms after spawn', median(bundled.ms), 150),
    {
      bench: 'B12',
      figure: 'the same',
      ours: median(bundled.ms),
      peer: 'empty Node',
      theirs: bare,
      goal: null,
    },
    absolute('B12', 'sidecar RSS MiB when ready', median(bundled.rss), null),
  ]
}

type Place = { readonly folder: string; readonly port: number }
type Starts = { readonly ms: number[]; readonly rss: number[] }

async function starts(script: string, { folder, port }: Place): Promise<Starts> {
  const env = {
    PORT: '0',
    DATA_DIR: join(folder, 'sidecar'),
    CONTROL_PLANE_URL: `http://127.0.0.1:${port}`,
    GATEWAY_TOKEN_FILE: join(folder, 'enrol.token'),
    LOG_LEVEL: 'silent',
  }
  const found: Starts = { ms: [], rss: [] }
  for (let n = 0; n <= STARTS; n += 1) {
    const { ms, rss } = await startOnce(script, env)
    // The first start does not count, because it creates the CA and its key.
    if (n > 0) found.ms.push(ms)
    if (n > 0) found.rss.push(rss)
  }
  return found
}

async function startOnce(script: string, env: Record<string, string>): Promise<{ ms: number; rss: number }> {
  const startedAt = performance.now()
  const child = spawn(process.execPath, [script], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  await new Promise<void>((resolve, reject) => {
    child.on('message', (message: { type: string }) => message.type === 'ready' && resolve())
    child.once('exit', (code) => reject(new Error(`${script} ended with ${code}`)))
  })
  const ms = performance.now() - startedAt
  const rss = rssMib(child.pid ?? 0).now
  await end(child)
  return { ms, rss }
}

/** What Node itself takes: the part that no program can save. */
async function bareStart(folder: string): Promise<number> {
  const script = join(folder, 'empty.mjs')
  writeFileSync(script, "process.send({ type: 'ready' }); process.on('SIGTERM', () => process.exit(0))\n")
  const times: number[] = []
  for (let n = 0; n < STARTS; n += 1) times.push((await startOnce(script, {})).ms)
  return median(times)
}
