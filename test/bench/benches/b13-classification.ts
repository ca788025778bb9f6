import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buildSync } from 'esbuild'
import { classify, decidingKeys } from '../../../core/connectors/classify.ts'
import type { Row as CatalogueRow } from '../../../core/connectors/connector.ts'
import { type BoundConnector, BUILT_IN } from '../../../core/connectors/registry.ts'
import { compileRows, type RowTrie } from '../../../core/connectors/rows/row-trie.ts'
import { lookUp } from '../../../core/connectors/rows/rows.ts'
import { parseBody } from '../../../core/request/body/body.ts'
import { isRefusal, type RawRequest } from '../../../core/request/canonical.ts'
import { canonicalise } from '../../../core/request/canonicalise.ts'
import { boundOf } from '../../core/connectors/golden.ts'
import type { Bench } from '../main.ts'
import { absolute, type Row } from '../support/report.ts'

/**
 * From raw bytes to a name: the whole of reading a head, a strict body of 4 KiB and the look-up. What the catalogue
 * costs to load, and how the look-up grows with its rows.
 */
export const classification: Bench = async ({ bed, isQuick }) => {
  const calls = isQuick ? 1_000 : 2_000
  const rows = CASES.flatMap((one) => costOf(one, calls))
  return [...rows, ...lookUpCosts(), ...loadCosts(bed.folder, isQuick ? 5 : 11)]
}

type Case = {
  readonly name: string
  readonly connector: Parameters<typeof boundOf>[0]
  readonly host: string
  readonly method: string
  readonly target: string
  readonly type: string
  /** The n-th body: clients send other texts each time. */
  readonly body: (n: number) => string
  readonly action: string
}

const JSON_TYPE = 'application/json'
const FILL = 'x'.repeat(400)
const filled = (start: object, n: number) => {
  const members = Object.fromEntries(Array.from({ length: 9 }, (_, i) => [`field_${i}`, `${FILL}${n}`]))
  return JSON.stringify({ ...start, ...members })
}
const DOCUMENT = `mutation Open($input: CreateIssueInput!) { createIssue(input: $input) { ...Made } }
fragment Made on CreateIssuePayload { issue { ${Array.from({ length: 165 }, (_, i) => `field${i}: title number`).join(' ')} } }`
const graphql = (n: number, document = DOCUMENT) =>
  JSON.stringify({ query: document, variables: { input: { title: `t${n}`, body: FILL } } })

const CASES: readonly Case[] = [
  {
    name: 'code host, a file by PUT',
    connector: 'codehost',
    host: 'api.github.com',
    method: 'PUT',
    target: '/repos/acme/site/contents/docs/readme.md',
    type: JSON_TYPE,
    body: (n) => filled({ message: 'm', sha: 'abc' }, n),
    action: 'codehost.file.update',
  },
  {
    name: 'code host, GraphQL, the same document',
    connector: 'codehost',
    host: 'api.github.com',
    method: 'POST',
    target: '/graphql',
    type: JSON_TYPE,
    body: (n) => graphql(n),
    action: 'codehost.issue.create',
  },
  {
    name: 'code host, GraphQL, a new document each time',
    connector: 'codehost',
    host: 'api.github.com',
    method: 'POST',
    target: '/graphql',
    type: JSON_TYPE,
    body: (n) => graphql(n, `${DOCUMENT}#${n}`),
    action: 'codehost.issue.create',
  },
  {
    name: 'model provider A, a chat',
    connector: 'llm_a',
    host: 'api.openai.com',
    method: 'POST',
    target: '/v1/chat/completions',
    type: JSON_TYPE,
    body: (n) => filled({ model: 'm', stream: true }, n),
    action: 'llm_a.chat.create_stream',
  },
  {
    name: 'model provider B, a message',
    connector: 'llm_b',
    host: 'api.anthropic.com',
    method: 'POST',
    target: '/v1/messages',
    type: JSON_TYPE,
    body: (n) => filled({ model: 'm', max_tokens: 1 }, n),
    action: 'llm_b.message.create',
  },
  {
    name: 'payments, a charge as a form',
    connector: 'payments',
    host: 'api.stripe.com',
    method: 'POST',
    target: '/v1/charges',
    type: 'application/x-www-form-urlencoded',
    body: (n) =>
      `amount=${100 + n}&currency=eur&${Array.from({ length: 9 }, (_, i) => `metadata[f${i}]=${FILL}`).join('&')}`,
    action: 'payments.charge.create',
  },
  {
    name: 'chat, a message',
    connector: 'chat',
    host: 'slack.com',
    method: 'POST',
    target: '/api/chat.postMessage',
    type: JSON_TYPE,
    body: (n) => filled({ channel: 'C1', text: 'x' }, n),
    action: 'chat.message.post',
  },
]

const DISTINCT = 512

function costOf(one: Case, calls: number): readonly Row[] {
  const bound = boundOf(one.connector)
  const bodies = Array.from({ length: DISTINCT }, (_, n) => Buffer.from(one.body(n)))
  const name = (body: Buffer, raw: RawRequest) => {
    const named = nameOf(bound, raw, body)
    if (named !== one.action) throw new Error(`${one.name} was named ${named}`)
  }
  const own = new Quietest()
  const idle = new Quietest()
  // Many short rounds, of which the quietest counts: others take this thread's turn away in the long ones.
  for (let round = 0; round < 24; round += 1) {
    const requests = Array.from({ length: calls }, (_, n) => {
      const body = bodies[n % DISTINCT] ?? Buffer.alloc(0)
      return { body, raw: rawOf(one, body) }
    })
    own.take(requests, ({ body, raw }) => name(body, raw))
    idle.take(requests, spin)
  }
  const isParsed = one.name.endsWith('each time')
  return [
    absolute('B13', `${one.name}: p50 us`, own.p50, null),
    absolute('B13', `${one.name}: p99 us`, own.p99, isParsed ? null : 20),
    absolute('B13', `${one.name}: p99 us of ${SPIN_US} us of nothing in the same rounds`, idle.p99, null),
  ]
}

/** The lowest percentiles of any round, in us. */
class Quietest {
  p50 = Number.POSITIVE_INFINITY
  p99 = Number.POSITIVE_INFINITY

  take<T>(items: readonly T[], work: (item: T) => void): void {
    const took = new Float64Array(items.length)
    for (const [at, item] of items.entries()) {
      const startedAt = process.hrtime.bigint()
      work(item)
      took[at] = Number(process.hrtime.bigint() - startedAt) / 1_000
    }
    took.sort()
    this.p50 = Math.min(this.p50, took[Math.floor(took.length * 0.5)] ?? 0)
    this.p99 = Math.min(this.p99, took[Math.floor(took.length * 0.99)] ?? 0)
  }
}

const SPIN_US = 10

/**
 * Computes for as long as a classification takes, without allocating memory. The 99th percentile above this time is
 * caused by the machine.
 */
function spin(): void {
  const until = process.hrtime.bigint() + BigInt(SPIN_US * 1_000)
  while (process.hrtime.bigint() < until);
}

function rawOf({ host, method, target, type }: Case, body: Buffer): RawRequest {
  const rawHeaders = ['Host', host, 'User-Agent', 'bench', 'Accept', '*/*', 'Content-Type', type]
  rawHeaders.push('Content-Length', String(body.length), 'Authorization', 'Bearer own')
  return { method, target, rawHeaders, httpVersion: '1.1', scheme: 'https', sources: { sni: host } }
}

function nameOf(bound: BoundConnector, raw: RawRequest, body: Uint8Array): string {
  const request = canonicalise(raw)
  if (isRefusal(request)) return request.detail
  const view = parseBody(body, request.body, decidingKeys(bound, request))
  if (isRefusal(view)) return view.detail
  const named = classify(bound, request, view)
  return named.kind === 'actions' ? (named.actions[0]?.type ?? 'nothing') : named.kind
}

/** The look-up alone among the first 10, 100 and all rows of the longest catalogue. */
function lookUpCosts(): readonly Row[] {
  const all = (BUILT_IN.find(({ name }) => name === 'codehost')?.catalogue ?? []).filter(
    (row): row is CatalogueRow => row.template?.startsWith('/repos/') === true,
  )
  const [ten, hundred, whole] = [10, 100, all.length].map((count) => lookUpNs(all.slice(0, count)))
  return [
    absolute('B13', 'look-up ns among 10 rows', ten ?? 0, null),
    absolute('B13', 'look-up among 100 rows / 10 rows', (hundred ?? 0) / (ten ?? 1), 2),
    absolute('B13', `look-up among ${all.length} rows / 10 rows`, (whole ?? 0) / (ten ?? 1), 2),
  ]
}

function lookUpNs(rows: readonly CatalogueRow[]): number {
  const trie = compileRows(rows)
  // The same ten questions whatever the number of rows, so that only the number differs.
  const asked = rows.slice(0, 10).map(({ method, template }) => {
    const segments = template
      .slice(1)
      .replaceAll(/\{[^}]*number\}/g, '7')
      .replaceAll(/\{[^}]*\}/g, 'x')
      .split('/')
    return { method, path: { segments, rawSegments: segments } }
  })
  let best = Number.POSITIVE_INFINITY
  for (let round = 0; round < 10; round += 1) best = Math.min(best, roundNs(trie, asked))
  return best
}

type Asked = {
  readonly method: string
  readonly path: { readonly segments: readonly string[]; readonly rawSegments: readonly string[] }
}

function roundNs(trie: RowTrie, asked: readonly Asked[]): number {
  const passes = 2_000
  let found = 0
  const startedAt = process.hrtime.bigint()
  for (let pass = 0; pass < passes; pass += 1)
    for (const { method, path } of asked) if (lookUp(trie, method, path) !== null) found += 1
  const ns = Number(process.hrtime.bigint() - startedAt) / (passes * asked.length)
  if (found !== passes * asked.length) throw new Error('a row was not found: the benchmark measures nothing')
  return ns
}

/**
 * The catalogue bundled as it ships, loaded by processes of their own: CPU time and heap until the connectors of a
 * gateway stand. Everything, and what most gateways have. The median of several, in turn.
 */
function loadCosts(folder: string, rounds: number): readonly Row[] {
  const registry = new URL('../../../core/connectors/registry.ts', import.meta.url).pathname
  const bundle = join(folder, 'registry.mjs')
  buildSync({ entryPoints: [registry], bundle: true, format: 'esm', platform: 'node', outfile: bundle })
  const probe = join(folder, 'load.mjs')
  writeFileSync(probe, PROBE.replace('BUNDLE', bundle))
  const measure = (types: string) =>
    JSON.parse(execFileSync(process.execPath, ['--expose-gc', probe, types], { encoding: 'utf8' })) as Load
  const loads = Array.from({ length: rounds }, () => ({
    all: measure(BUILT_IN.map(({ name }) => name).join()),
    typical: measure('codehost,llm_a'),
    none: measure(''),
  }))
  const median = (kind: keyof (typeof loads)[number], key: keyof Load) =>
    loads.map((load) => load[kind][key]).sort((x, y) => x - y)[Math.floor(rounds / 2)] ?? 0
  return [
    absolute('B13', 'the whole catalogue loads in ms of CPU', median('all', 'ms'), 30),
    absolute('B13', 'the whole catalogue holds MiB of heap', median('all', 'mib'), 15),
    absolute('B13', 'code host and one model provider load in ms of CPU', median('typical', 'ms'), 30),
    absolute('B13', 'code host and one model provider hold MiB of heap', median('typical', 'mib'), 15),
    absolute('B13', 'the code without any table loads in ms of CPU', median('none', 'ms'), null),
  ]
}

type Load = { readonly ms: number; readonly mib: number }

const PROBE = `
globalThis.gc()
const before = process.memoryUsage().heapUsed
const cpu = process.cpuUsage()
const { BUILT_IN } = await import('BUNDLE')
const types = process.argv[2].split(',')
const rows = []
for (const connector of BUILT_IN) {
  if (!types.includes(connector.name)) continue
  connector.prepare?.()
  rows.push(connector.catalogue)
}
const { user, system } = process.cpuUsage(cpu)
const ms = (user + system) / 1000
globalThis.gc()
const mib = (process.memoryUsage().heapUsed - before) / 1048576
process.stdout.write(JSON.stringify({ ms, mib, rows: rows.flat().length }))
`
