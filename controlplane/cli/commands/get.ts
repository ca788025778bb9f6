import * as z from 'zod'
import { nearest } from '../../../core/nearest.ts'
import { IN_FORCE_TEXT, InForce } from '../../../core/wire/operator/operator.ts'
import { ObjectOrigin, originText } from '../../../core/wire/operator/origin.ts'
import { usageError } from '../arguments.ts'
import { type ApiClient, controlPlane } from '../client/client.ts'
import { type Command, EXIT, flag, type Invocation } from '../command.ts'
import { table } from '../terminal/table.ts'

type Column = readonly [header: string, path: string]
type Kind = { readonly path: string; readonly list: string; readonly columns: readonly Column[] }

const SOURCE: Column = ['FROM', 'from']
const KINDS: Readonly<Record<string, Kind>> = {
  gateways: {
    path: '/api/dashboard/gateway',
    list: 'gateways',
    columns: [
      ['NAME', 'name'],
      ['STATUS', 'status'],
      ['LEVEL', 'enforcementLevel'],
      SOURCE,
      ['APPLIED', 'live.applied_version'],
      ['DESIRED', 'live.desired_version'],
      ['VERSIONS', 'live.versions'],
      ['ID', 'id'],
    ],
  },
  connectors: {
    path: '/api/dashboard/connectors',
    list: 'connectors',
    columns: [
      ['NAME', 'name'],
      ['TYPE', 'type_title'],
      ['DOMAINS', 'domains'],
      ['CREDENTIAL', 'credential'],
      SOURCE,
      ['ID', 'id'],
    ],
  },
  permissions: {
    path: '/api/dashboard/permissions',
    list: 'permissions',
    columns: [
      ['AGENT', 'agent'],
      ['PATTERN', 'action_pattern'],
      ['DECISION', 'decision'],
      ['REASON', 'reason'],
      SOURCE,
      ['ID', 'id'],
    ],
  },
  policies: {
    path: '/api/dashboard/policies',
    list: 'policies',
    columns: [
      ['NAME', 'name'],
      ['ENABLED', 'enabled'],
      ['PRIORITY', 'priority'],
      ['VERSION', 'version'],
      SOURCE,
      ['ID', 'id'],
    ],
  },
  agents: {
    path: '/api/dashboard/agents',
    list: 'agents',
    columns: [
      ['NAME', 'name'],
      ['STATUS', 'status'],
      ['ENVIRONMENT', 'environment'],
      ['LAST SEEN', 'last_seen_at'],
      ['ID', 'agent_id'],
    ],
  },
  manifests: {
    path: '/api/dashboard/manifests',
    list: 'objects',
    columns: [
      ['KIND', 'kind'],
      ['NAMESPACE', 'namespace'],
      ['NAME', 'name'],
      ['ACCEPTED', 'accepted'],
      ['IN FORCE', 'in_force'],
      SOURCE,
      ['REASONS', 'reasons'],
    ],
  },
}

export const get: Command = {
  name: 'get',
  summary: 'List gateways, connectors, permissions, policies, agents or manifests',
  usage: [`get ${Object.keys(KINDS).join('|')}`],
  maxArguments: 1,
  options: {},
  examples: [
    ['chaperone get permissions', 'list every rule with its origin'],
    ['chaperone get manifests', 'list every manifest; exit code 1 when one is not accepted'],
    ['chaperone get policies --json', 'print complete objects'],
  ],
  run,
}

async function run(invocation: Invocation): Promise<number> {
  const [name] = invocation.positionals
  if (name === undefined) throw usageError(get, `Give one of ${Object.keys(KINDS).join(', ')}.`)
  const kind = KINDS[name] ?? KINDS[`${name}s`] ?? KINDS[`${name.slice(0, -1)}ies`]
  if (kind === undefined) {
    const hint = nearest(name, Object.keys(KINDS))
    throw usageError(
      get,
      `get ${name} is not one of ${Object.keys(KINDS).join(', ')}.${hint === undefined ? '' : ` Did you mean ${hint}?`}`,
    )
  }
  const answer = await controlPlane(invocation).call<Record<string, unknown>>('GET', kind.path)
  const rows = z.array(z.record(z.string(), z.unknown())).parse(answer[kind.list] ?? [])
  const { print, warn } = invocation.terminal
  if (flag(invocation, 'json')) print(JSON.stringify(answer))
  else printRows(kind, (await withTitles(rows)).map(withCredential).map(withOrigin), print)
  const missing = rows.filter((row) => credentialOf(row) === 'missing').map(({ name }) => name)
  if (missing.length > 0)
    warn(
      `Connectors without a credential: ${missing.join(', ')}. Requests to them are refused, even if the rules allow them. See: chaperone doctor`,
    )
  return kind.list === 'objects' ? manifestVerdict(answer, invocation) : EXIT.ok
}

/**
 * Adds to each connector the title of its type. The registry of types is imported only here, because the import takes
 * longer than the rest of the command.
 */
async function withTitles(rows: readonly Record<string, unknown>[]): Promise<Record<string, unknown>[]> {
  const { connectorTitle } = await import('../../../core/connectors/registry.ts')
  return rows.map((row) =>
    typeof row['type'] === 'string' ? { ...row, type_title: connectorTitle(row['type']) } : row,
  )
}

/**
 * Returns the state of a connector's credential as text. The field `has_token: false` alone does not show whether the
 * connector needs a credential.
 */
function credentialOf(row: Record<string, unknown>): string | null {
  if (typeof row['has_token'] !== 'boolean') return null
  if (row['auth_type'] === 'none') return 'not needed'
  return row['has_token'] ? 'stored' : 'missing'
}

function withCredential(row: Record<string, unknown>): Record<string, unknown> {
  const credential = credentialOf(row)
  return credential === null ? row : { ...row, credential }
}

const Placed = z.looseObject({ origin: ObjectOrigin, managed_by: z.string().nullish() })

function withOrigin(row: Record<string, unknown>): Record<string, unknown> {
  const placed = Placed.safeParse(row)
  if (!placed.success) return row
  return { ...row, from: originText(placed.data.origin, placed.data.managed_by ?? null) }
}

function printRows(
  kind: Kind,
  rows: readonly Record<string, unknown>[],
  print: (line: string) => void,
): void {
  const cells = rows.map((row) => kind.columns.map(([, path]) => at(row, path)))
  for (const line of table(
    kind.columns.map(([header]) => header),
    cells,
  ))
    print(line)
}

/** Returns the value at a path of a row; null if there is none. `a.b` selects field `b` of object `a`. */
function at(row: Record<string, unknown>, path: string): unknown {
  const value = path
    .split('.')
    .reduce<unknown>((inner, key) => (inner as Record<string, unknown> | null | undefined)?.[key], row)
  return value ?? null
}

const Problem = z.looseObject({ file: z.string(), line: z.number().nullish(), message: z.string() })
const Judged = z.looseObject({
  kind: z.string(),
  namespace: z.string(),
  name: z.string(),
  managed_by: z.string().nullish(),
  accepted: z.boolean().optional(),
  in_force: InForce.optional(),
  reasons: z.array(z.string()).default([]),
  warnings: z.array(z.string()).default([]),
  reason_lines: z.array(z.number().nullable()).default([]),
  warning_lines: z.array(z.number().nullable()).default([]),
})

type Judged = z.infer<typeof Judged>

/**
 * Reads the problems and warnings of manifests. Problems of files that cannot be parsed come first. Problems of refused
 * objects follow, such as a policy whose test fails. Each text begins with the file and, if known, the line. Warnings
 * concern accepted objects.
 */
export async function manifestFindings(api: ApiClient): Promise<{ problems: string[]; warnings: string[] }> {
  const answer = await api.call<Record<string, unknown>>('GET', '/api/dashboard/manifests')
  return { problems: problemLines(answer), warnings: warningLines(answer) }
}

function warningLines(answer: Record<string, unknown>): string[] {
  const objects = z.array(Judged).parse(answer['objects'] ?? [])
  return objects.flatMap((object) => [
    ...object.warnings.map((text, index) => `${placeOf(object, object.warning_lines[index])}: ${text}`),
    ...unresolvedLines(object),
  ])
}

/**
 * Returns the problems of an accepted object, for example that one of its Gateways does not exist. Omits problems
 * that are also warnings.
 */
function unresolvedLines(object: Judged): string[] {
  if (object.accepted === false) return []
  return object.reasons.flatMap((reason, index) =>
    object.warnings.includes(reason) ? [] : [`${placeOf(object, object.reason_lines[index])}: ${reason}`],
  )
}

function problemLines(answer: Record<string, unknown>): string[] {
  const problems = z.array(Problem).parse(answer['problems'] ?? [])
  const refused = z.array(Judged).parse(answer['objects'] ?? [])
  return [
    ...problems.map(({ file, line, message }) => `${file}${line ? `:${line}` : ''}: ${message}`),
    ...refused.filter(({ accepted }) => accepted === false).flatMap(refusalLines),
  ]
}

/** Returns one line for each reason of a refusal. */
function refusalLines(judged: Judged): string[] {
  const { reasons, reason_lines: lines, in_force: held } = judged
  const holds = held === undefined ? '' : ` (${IN_FORCE_TEXT[held]})`
  const stated = reasons.length > 0 ? reasons : ['refused']
  return stated.map((reason, index) => `${placeOf(judged, lines[index])}: ${reason}${holds}`)
}

/** Returns file, line, kind and name of an object, such as `10-codehost.yaml:7: Connector default/codehost`. */
function placeOf(
  { kind, namespace, name, managed_by: file }: Judged,
  line: number | null | undefined,
): string {
  const at = line === null || line === undefined ? '' : `:${line}`
  return `${file ?? 'a manifest'}${at}: ${kind} ${namespace}/${name}`
}

function manifestVerdict(answer: Record<string, unknown>, invocation: Invocation): number {
  const problems = problemLines(answer)
  for (const line of problems) invocation.terminal.warn(line)
  for (const line of warningLines(answer)) invocation.terminal.warn(`warning: ${line}`)
  return problems.length > 0 ? EXIT.refused : EXIT.ok
}
