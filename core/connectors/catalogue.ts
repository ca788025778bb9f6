import type { RiskLevel } from '../action/action.ts'
import type { KnownAction } from '../action/spec.ts'
import type { CatalogueRow, Connector } from './connector.ts'
import { BUILT_IN } from './registry.ts'

/**
 * All action names of the connector types, with the effect, risk and hints of each action. Access rules, policy tests
 * and actions submitted by name use this catalogue.
 */
export type Catalogue = {
  /** Connector types in registration order. */
  readonly connectors: readonly string[]
  rows(connectorType: string): readonly CatalogueRow[]
  knownAction(actionType: string): KnownAction | null
}

export function createCatalogue(connectors: readonly Connector[] = BUILT_IN): Catalogue {
  const rows = new Map(connectors.map(({ name, catalogue }) => [name, catalogue ?? []]))
  const known = new Map<string, KnownAction>()
  for (const [connector, own] of rows) {
    for (const row of own) known.set(row.type, stricter(known.get(row.type), row, connector))
  }
  return {
    connectors: [...rows.keys()],
    rows: (type) => rows.get(type) ?? [],
    knownAction: (type) => known.get(type) ?? null,
  }
}

const EFFECTS = ['read', 'compute', 'write'] as const
const RISKS: readonly RiskLevel[] = ['low', 'medium', 'high']

/** Returns the more severe effect and risk of two operations that share an action name, and the hints of both. */
function stricter(known: KnownAction | undefined, row: CatalogueRow, connector: string): KnownAction {
  const { effect, risk } = row
  return {
    connector,
    effect: later(EFFECTS, known?.effect ?? effect, effect),
    risk: later(RISKS, known?.risk ?? risk, risk),
    hints: { ...known?.hints, ...row.hints },
  }
}

function later<T>(order: readonly T[], a: T, b: T): T {
  return order.indexOf(a) > order.indexOf(b) ? a : b
}
