import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { requests } from './benches/b1-requests.ts'
import { latency } from './benches/b2-latency.ts'
import { domains } from './benches/b3-domains.ts'
import { events } from './benches/b4-events.ts'
import { bodies } from './benches/b5-bodies.ts'
import { mcp } from './benches/b6-mcp.ts'
import { protocols } from './benches/b7-protocols.ts'
import { decision } from './benches/b8-decision.ts'
import { actions } from './benches/b9-actions.ts'
import { tokens } from './benches/b10-tokens.ts'
import { killSwitches } from './benches/b11-kill-switch.ts'
import { audit } from './benches/b12-audit.ts'
import { sidecar } from './benches/b12-sidecar.ts'
import { classification } from './benches/b13-classification.ts'
import { kubernetes } from './benches/b14-kubernetes.ts'
import { governedPods } from './benches/b14-pods.ts'
import { limits } from './benches/b15-limits.ts'
import { journal } from './benches/b16-journal.ts'
import { manifests } from './benches/b17-manifests.ts'
import { narrowedTokens } from './benches/b18-narrowed-tokens.ts'
import { records } from './benches/b19-records.ts'
import { fleet } from './benches/fleet.ts'
import type { FleetSize } from './fleet/fleet-bed.ts'
import { issueTestCertificates } from './support/certificates.ts'
import { printTable, type Row } from './support/report.ts'
import { whyNotTheSameJob } from './support/same-job.ts'
import type { Bed } from './support/subject.ts'
import { makeFolder, SUBJECTS } from './support/subjects.ts'
import { startUpstream, UPSTREAM_NAMES } from './support/upstream-process.ts'

/** A benchmark gets the bed and the names of the subjects to run, and answers with rows of one table. */
export type Bench = (context: BenchContext) => Promise<readonly Row[]>
export type BenchContext = {
  readonly bed: Bed
  readonly subjects: readonly string[]
  readonly isQuick: boolean
  /** Subjects that failed during this bench: whatever was measured of them does not count. */
  readonly failed: Set<string>
  readonly fleet: FleetSize
}

const BENCHES: Readonly<Record<string, Bench>> = {
  B1: requests,
  B2: latency,
  B3: domains,
  B4: events,
  B5: bodies,
  B6: mcp,
  B7: protocols,
  B8: decision,
  B9: actions,
  B10: tokens,
  B11: killSwitches,
  B12: async (context) => [...(await audit(context)), ...(await sidecar(context))],
  B13: classification,
  B14: async (context) => [...(await kubernetes(context)), ...(await governedPods(context))],
  B15: limits,
  B16: journal,
  B17: manifests,
  B18: narrowedTokens,
  B19: records,
  fleet,
}

/** Those that measure the gateway beside other proxies. */
const BESIDE_PEERS: ReadonlySet<string> = new Set(['B1', 'B2', 'B3', 'B4', 'B5', 'B7'])

const HELP = `npm run bench -- [B1 B2 …] [--quick] [--subjects chaperone,haproxy,…]
npm run bench -- fleet [--streams 100] [--replicas 1]

Measures the gateway beside other proxies on this machine and prints one table. Ratios of one run count, not absolute
numbers. Every subject first proves that it does the whole job (not with --quick).\nBenches: ${Object.keys(BENCHES).join(' ')}. Subjects: ${Object.keys(SUBJECTS).join(', ')}.
mitmdump and haproxy take part where they are installed.`

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: 'boolean' },
    subjects: { type: 'string' },
    streams: { type: 'string', default: '100' },
    replicas: { type: 'string', default: '1' },
    help: { type: 'boolean', short: 'h' },
  },
})
if (values.help) {
  console.log(HELP)
  process.exit(0)
}

const { folder, remove } = makeFolder()
const files = await issueTestCertificates(folder, UPSTREAM_NAMES)
const upstream = await startUpstream(files)
try {
  const bed: Bed = { upstream, upstreamPort: upstream.port, folder, ...files }
  const named = values.subjects?.split(',') ?? Object.keys(SUBJECTS)
  const wanted = positionals.length > 0 ? positionals : Object.keys(BENCHES)
  const isUnproven = values.quick === true || wanted.every((name) => !BESIDE_PEERS.has(name))
  const subjects = isUnproven ? named : await thoseWithTheSameJob(named, bed)
  const rows: Row[] = []
  const fleetSize = { streams: Number(values.streams), replicas: Number(values.replicas) }
  for (const name of wanted) {
    const bench = BENCHES[name]
    if (bench === undefined) throw new Error(`no bench ${name}; there are ${Object.keys(BENCHES).join(', ')}`)
    console.error(`bench: ${name} ...`)
    const failed = new Set<string>()
    const measured = await bench({ bed, subjects, isQuick: values.quick === true, failed, fleet: fleetSize })
    const found = measured.filter((row) => !failed.has(row.peer))
    rows.push(...found)
    printTable(found)
  }
  console.log('\nall:')
  printTable(rows)
  writeFileSync(join(process.cwd(), 'bench-results.json'), `${JSON.stringify(rows, null, 2)}\n`)
} finally {
  await upstream.stop()
  remove()
}

/** A subject that skips a part of the job is no measure for the rest of it: it is left out and says why. */
async function thoseWithTheSameJob(names: readonly string[], bed: Bed): Promise<string[]> {
  const able: string[] = []
  for (const name of names) {
    const why = await whyNotTheSameJob(name, bed)
    if (why === null) able.push(name)
    else if (name === 'chaperone') throw new Error(`chaperone: ${why}`)
    else console.error(`bench: ${name} left out: ${why}`)
  }
  return able
}
