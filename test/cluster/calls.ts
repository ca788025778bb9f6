import { eventually } from '../support/eventually.ts'
import { inAgent, VENDOR } from './agents.ts'
import type { ControlPlane } from './control-plane.ts'
import { AGENTS } from './installation.ts'

/** Calls one path after the other until the file `/tmp/end` exists. Prints a line `PATH STATUS` for each. */
export function caller(method: string, prefix: string, pauseMs: number): string {
  return `
const { existsSync } = require('node:fs')
async function call(n) {
  if (existsSync('/tmp/end')) return
  const path = '${prefix}' + n
  const status = await fetch('https://${VENDOR}' + path, { method: '${method}' })
    .then(async (r) => (await r.text(), r.status), (e) => e.cause?.code ?? e.message)
  console.log(path, status)
  setTimeout(call, ${pauseMs}, n + 1)
}
call(1)`
}

export type Answers = ReadonlyArray<readonly [path: string, status: string]>

/** Starts calling in a pod. The returned function ends it, and returns the answers. */
export function startCalling(pod: string, script: string): () => Promise<Answers> {
  const ran = inAgent(pod, ['sh', '-c', 'rm -f /tmp/end; exec node -e "$1"', 'sh', script])
  return async () => {
    await inAgent(pod, ['touch', '/tmp/end'])
    const lines = (await ran).stdout.trim().split('\n')
    return lines.map((line) => line.split(' ') as [string, string])
  }
}

type Row = {
  readonly path: string | null
  readonly decision: string
  readonly note: string | null
  readonly status: number | null
}

type Expected = { readonly pod: string; readonly run: string; readonly atLeast: number }

/** Records of the agent of a pod in a run, as `PATH STATUS`, when there are at least so many. */
export async function recordsOf(
  plane: ControlPlane,
  { pod, run, atLeast }: Expected,
): Promise<readonly string[]> {
  type Page = { readonly traffic: readonly Row[]; readonly next_cursor: string | null }
  const rows = await eventually(
    `${pod} has ${atLeast} records`,
    async () => {
      const found: Row[] = []
      for (let cursor = ''; ; ) {
        const page = await plane.call<Page>(
          'GET',
          `/api/dashboard/traffic?limit=500&agent=${encodeURIComponent(`${AGENTS}/${pod}`)}${cursor}`,
        )
        found.push(...page.traffic.filter(({ path }) => path?.startsWith(run)))
        if (page.next_cursor === null) break
        cursor = `&cursor=${encodeURIComponent(page.next_cursor)}`
      }
      return found.length < atLeast ? null : found
    },
    30_000,
  )
  return rows.map(({ path, status }) => `${path} ${status}`)
}
