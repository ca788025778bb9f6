import type { Action, Effect } from '../../core/action/action.ts'
import { classify } from '../../core/connectors/classify.ts'
import type { CatalogueRow } from '../../core/connectors/connector.ts'
import { bindConnector } from '../../core/connectors/registry.ts'
import { isRefusal } from '../../core/request/canonical.ts'
import { canonicalise } from '../../core/request/canonicalise.ts'
import type { ConnectorEntry } from '../../core/wire/gateway/sync.ts'

/**
 * An operation that a provider publishes: its method (`GET`), its path template (`/repos/{owner}/{repo}`), and the name
 * that the provider gives it.
 */
export type Operation = { readonly method: string; readonly template: string; readonly id: string }

export type Coverage = {
  readonly operations: number
  readonly named: number
  readonly reads: number
  /** Number of operations that are model calls, which cost money and change nothing at the provider. */
  readonly computes: number
  readonly writes: number
  /** Operations without a row in the catalogue, each as `METHOD template`. */
  readonly unmapped: readonly string[]
  /**
   * Names of actions, other than reads, with several rows that the catalogue does not mark as alternatives (`@same`).
   */
  readonly doubled: readonly string[]
  /** Names of actions whose rows have different effects, or whose rows are all marked as alternatives (`@same`). */
  readonly inconsistent: readonly string[]
}

/**
 * Parses the list of a provider's operations. Each line has the columns method, template, operation and `deprecated`,
 * separated by tabs.
 */
export function readOperations(text: string): readonly Operation[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [method = '', template = '', id = ''] = line.split('\t')
      return { method, template, id }
    })
}

/** Classifies every operation as the gateway does, and checks the names of the catalogue. */
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
    // Several read operations of one resource type may have the same name, because the target of the action
    // distinguishes these operations.
    if (isWrite && main.length > 1) doubled.push(name)
  }
  return { doubled, inconsistent }
}

/** Returns the actions that a request of the operation may have before its body is read. */
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

/** Values of path parameters that accept only certain values. All other parameters accept any text. */
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
    id: type,
    name: type,
    type,
    domains: [],
    ports: [443],
    auth: { type: 'none' },
    secret: null,
    upstream: { allowPrivateAddresses: false },
    tlsMode: 'intercept',
    errorShape: 'service',
    actions: [],
    source: 'api',
    managed_by: null,
  }
}
