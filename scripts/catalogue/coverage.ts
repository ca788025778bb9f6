import type { Action, Effect } from '../../core/action/action.ts'
import { classify } from '../../core/connectors/classify.ts'
import type { CatalogueRow } from '../../core/connectors/connector.ts'
import { bindConnector } from '../../core/connectors/registry.ts'
import { isRefusal } from '../../core/request/canonical.ts'
import { canonicalise } from '../../core/request/canonicalise.ts'
import type { ConnectorEntry } from '../../core/wire/gateway/sync.ts'

/** One published operation: `GET`, `/repos/{owner}/{repo}`, and what its provider calls it. */
export type Operation = { readonly method: string; readonly template: string; readonly id: string }

export type Coverage = {
  readonly operations: number
  readonly named: number
  readonly reads: number
  /** Model calls and the like: they cost, but change nothing there. */
  readonly computes: number
  readonly writes: number
  /** `METHOD template` of operations that no row names. */
  readonly unmapped: readonly string[]
  /** Names that several rows of a write share without saying that they are the same deed. */
  readonly doubled: readonly string[]
  /** Rows that say they are another address of a deed that no row has, and names with two effects. */
  readonly inconsistent: readonly string[]
}

/** Reads the tab-separated list of a provider: method, template, operation, `deprecated`. */
export function readOperations(text: string): readonly Operation[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [method = '', template = '', id = ''] = line.split('\t')
      return { method, template, id }
    })
}

/** Sends every operation through the real naming and looks at the names of the catalogue itself. */
export function coverageOf(
  type: ConnectorEntry['type'],
  operations: readonly Operation[],
  rows: readonly CatalogueRow[],
): Coverage {
  const named = operations.map((operation) => ({ operation, actions: nameOperation(type, operation) }))
  const isUnmapped = (actions: readonly Action[]) =>
    actions.length === 0 || actions.some((action) => action.unmapped === true)
  const known = named.filter(({ actions }) => !isUnmapped(actions))
  const only = (effect: Effect) =>
    known.filter(({ actions }) => actions.every((one) => one.effect === effect)).length
  const [reads, computes] = [only('read'), only('compute')]
  return {
    operations: operations.length,
    named: known.length,
    reads,
    computes,
    writes: known.length - reads - computes,
    unmapped: named
      .filter(({ actions }) => isUnmapped(actions))
      .map(({ operation }) => `${operation.method} ${operation.template}`),
    ...judgeNames(rows),
  }
}

function judgeNames(rows: readonly CatalogueRow[]): Pick<Coverage, 'doubled' | 'inconsistent'> {
  const byName = Map.groupBy(rows, (row) => row.type)
  const doubled: string[] = []
  const inconsistent: string[] = []
  for (const [name, own] of byName) {
    const main = own.filter((row) => row.isAlternative !== true)
    const isWrite = own.some((row) => row.effect !== 'read')
    if (main.length === 0 || new Set(own.map((row) => row.effect)).size > 1) inconsistent.push(name)
    // Reads of one kind of thing over narrower and wider scopes share a name: the target tells which.
    if (isWrite && main.length > 1) doubled.push(name)
  }
  return { doubled, inconsistent }
}

/** What a request of that operation is called; without its body, so that all possible names come back. */
export function nameOperation(
  type: ConnectorEntry['type'],
  operation: Pick<Operation, 'method' | 'template'>,
): readonly Action[] {
  const bound = bindConnector(entryOf(type))
  const [host = ''] = bound.connector.domains(bound.config)
  const request = canonicalise({
    method: operation.method,
    target: fill(operation.template),
    rawHeaders: ['Host', host],
    httpVersion: '1.1',
    scheme: 'https',
    sources: {},
  })
  if (isRefusal(request)) return []
  const found = classify(bound, request)
  if (isRefusal(found)) return []
  return found.kind === 'actions' ? found.actions : found.candidates
}

/** Values that stand for a word of a fixed set; everything else takes any text. */
const FIXED: Readonly<Record<string, string>> = { enablement: 'enable_all' }

function fill(template: string): string {
  let count = 0
  return template.replaceAll(/\{([^}]+)\}/g, (_all, name: string) => {
    count += 1
    const isNumber = /number/i.test(name) || name === 'account_id' || name === 'user_id'
    return FIXED[name] ?? (isNumber ? '7' : `v${count}`)
  })
}

function entryOf(type: ConnectorEntry['type']): ConnectorEntry {
  return {
    ...{ id: type, name: type, type, domains: [], ports: [443], auth: { type: 'none' }, secret: null },
    ...{ upstream: { allowPrivateAddresses: false }, tlsMode: 'intercept', errorShape: 'service' },
    ...{ actions: [], source: 'api', managed_by: null },
  }
}
