import * as z from 'zod'
import { RecordSchema } from '../../../core/record.ts'
import { instanceText } from '../../../core/wire/gateway/instance.ts'
import { Moment } from '../../../core/wire/schema/fields.ts'
import type { TrafficReply } from '../../../core/wire/traffic.ts'
import { sleep } from '../../../runtime/sleep.ts'
import { checkedOption, usageError } from '../arguments.ts'
import { type ApiClient, controlPlane } from '../client/client.ts'
import { replyFields } from '../client/reply-fields.ts'
import { type Command, EXIT, flag, type Invocation, text } from '../command.ts'
import { printable } from '../terminal/table.ts'

const Page = replyFields<TrafficReply>()(
  z.object({
    traffic: z.array(
      RecordSchema.partial().required({ id: true, time: true, decision: true, latency_ms: true }),
    ),
    next_cursor: z.string().nullable().default(null),
  }),
)
type Shown = z.infer<typeof Page>['traffic'][number]
/** Schemas of filters that do not accept every text. A decision may be in lower case, because the API accepts both. */
const SCHEMAS: Readonly<Record<string, z.ZodType>> = {
  decision: z
    .string()
    .toUpperCase()
    .pipe(z.enum(['ALLOW', 'HOLD', 'DENY'], 'is not ALLOW, HOLD or DENY')),
  from: Moment,
  to: Moment,
}
const FILTERS = ['agent', 'instance', 'connector', 'decision', 'action_type', 'from', 'to', 'q'] as const

export const traffic: Command = {
  name: 'traffic',
  summary: 'Print the records of requests: time, agent, action, decision, latency',
  usage: [
    'traffic [-f] [--agent A] [--instance I] [--connector C] [--decision ALLOW|HOLD|DENY] [--action-type T] [--from T] [--to T] [-q TEXT]',
  ],
  options: {
    follow: { type: 'boolean', short: 'f', help: 'print new records as they arrive' },
    agent: { type: 'string', value: 'NAME', help: 'name of the agent' },
    instance: {
      type: 'string',
      value: 'NAME',
      help: 'SandboxClaim, Sandbox or pod that runs the agent, as NAMESPACE/NAME',
    },
    connector: { type: 'string', value: 'TYPE', help: 'connector type, for example codehost' },
    decision: { type: 'string', value: 'D', help: 'ALLOW, HOLD or DENY' },
    'action-type': { type: 'string', value: 'T', help: 'action, for example codehost.pr.merge' },
    from: { type: 'string', value: 'TIME', help: 'earliest time (ISO 8601)' },
    to: { type: 'string', value: 'TIME', help: 'latest time (ISO 8601)' },
    q: {
      type: 'string',
      short: 'q',
      value: 'TEXT',
      help: 'text that occurs in action, host, path, agent or reason',
    },
    limit: { type: 'string', value: 'N', help: 'number of records (default 50, at most 500)' },
  },
  examples: [
    ['chaperone traffic -f', 'follow the records'],
    ['chaperone traffic --decision DENY --agent dev', 'print the denied requests of one agent'],
    ['chaperone traffic --json --limit 500 | jq .action_type', 'print one JSON record a line'],
  ],
  run,
}

async function run(invocation: Invocation): Promise<number> {
  const query = queryOf(invocation)
  const api = controlPlane(invocation)
  const seen = new Set<string>()
  show(invocation, await newest(api, query), seen)
  if (seen.size === 0 && !flag(invocation, 'follow')) invocation.terminal.warn('No matching records.')
  if (flag(invocation, 'follow')) await follow(invocation, api, query, seen)
  return EXIT.ok
}

function queryOf(invocation: Invocation): URLSearchParams {
  const query = new URLSearchParams()
  for (const name of FILTERS) {
    const value = checkedOption(traffic, invocation, name.replace('_', '-'), SCHEMAS[name] ?? z.string())
    if (value !== undefined) query.set(name, value)
  }
  const limit = text(invocation, 'limit') ?? '50'
  if (!/^[1-9]\d{0,2}$/.test(limit) || Number(limit) > 500)
    throw usageError(traffic, '--limit must be a number from 1 to 500.')
  query.set('limit', limit)
  return query
}

async function follow(
  invocation: Invocation,
  api: ApiClient,
  query: URLSearchParams,
  seen: Set<string>,
): Promise<never> {
  query.set('limit', '500')
  for (;;) {
    await sleep(500)
    const { traffic: latest } = await page(api, query)
    show(invocation, latest, seen)
    // Removes the ids of records that have left the newest page. A record does not return to that page, so the set
    // stays small.
    const current = new Set(latest.map(({ id }) => id))
    for (const id of seen) if (!current.has(id)) seen.delete(id)
  }
}

/** Reads pages until `limit` records match, because one page of a search reads a limited number of records. */
async function newest(api: ApiClient, query: URLSearchParams): Promise<readonly Shown[]> {
  const limit = Number(query.get('limit'))
  const next = new URLSearchParams(query)
  const found: Shown[] = []
  for (;;) {
    const { traffic: records, next_cursor: cursor } = await page(api, next)
    found.push(...records)
    if (cursor === null || found.length >= limit) return found.slice(0, limit)
    next.set('cursor', cursor)
  }
}

async function page(api: ApiClient, query: URLSearchParams): Promise<z.infer<typeof Page>> {
  return Page.parse(await api.call('GET', `/api/dashboard/traffic?${query}`))
}

/** Prints the records whose id is not in `seen`, oldest first. */
function show(invocation: Invocation, records: readonly Shown[], seen: Set<string>): void {
  for (const record of [...records].reverse()) {
    if (seen.has(record.id)) continue
    seen.add(record.id)
    invocation.terminal.print(flag(invocation, 'json') ? JSON.stringify(record) : trafficLine(record))
  }
}

/** Formats a record as `time agent action DECISION 12ms (note)`; in a pod, the instance follows the agent. */
export function trafficLine(record: Shown): string {
  const what = record.action_type ?? `${record.method ?? '?'} ${record.host ?? '?'}`
  const note = record.note ? ` (${record.note})` : ''
  const instance = record.instance ? ` (${instanceText(record.instance)})` : ''
  return printable(
    `${record.time} ${record.agent ?? '-'}${instance} ${what} ${record.decision} ${Math.round(record.latency_ms)}ms${note}`,
  )
}

/**
 * Waits up to 15 s for `count` records, because gateways upload records in batches. Returns the available records as
 * lines.
 */
export async function trafficLines(api: ApiClient, count: number): Promise<string[]> {
  const deadline = performance.now() + 15_000
  for (;;) {
    const { traffic: records } = await page(api, new URLSearchParams({ limit: String(count) }))
    if (records.length >= count || performance.now() > deadline)
      return [...records].reverse().map(trafficLine)
    await sleep(50)
  }
}
