import { matchesPattern, type Pattern } from '../../action/pattern.ts'
import { nearest } from '../../nearest.ts'
import { plainName } from '../../request/headers/repeated-names.ts'
import { createCatalogue } from '../catalogue.ts'
import { CHANNEL_FIELDS, FURTHER_CHANNEL_FIELDS } from '../chat/channel-fields.ts'
import { MUTATION_TABLE } from '../codehost/graphql/mutation-table.ts'
import type { CatalogueRow } from '../connector.ts'
import { once } from '../once.ts'

/** A parameter that no catalogue row of the actions in a policy's scope declares. */
export type UndeclaredParameter = {
  /**
   * False if the policy's scope also covers actions whose parameters may have other names: actions without rows, and
   * GraphQL fields of the code host.
   */
  readonly isCertain: boolean
  readonly hint: string
}

/**
 * Reports a parameter that no catalogue row of the actions in the scope declares. `patterns`: action patterns of the
 * policy. Null if a row declares the parameter, or if none of the actions has a row.
 */
export function undeclaredParameter(
  patterns: readonly Pattern[],
  parameter: string,
): UndeclaredParameter | null {
  const name = plainName(parameter)
  const scope = scopeOf(patterns)
  if (scope.names.size === 0 || scope.names.has(name)) return null
  const meant = nearest(name, [...scope.names])
  const isInGraphql = scope.hasCodehost && /[A-Z]/.test(name)
  return {
    isCertain: !scope.coversOthers && !isInGraphql,
    hint:
      meant === undefined
        ? `to read the field from the body, use request.body.${name}`
        : `did you mean parameters.${meant}?`,
  }
}

type Scope = {
  readonly names: ReadonlySet<string>
  readonly coversOthers: boolean
  readonly hasCodehost: boolean
}

function scopeOf(patterns: readonly Pattern[]): Scope {
  const types = [...declared()].filter(([type]) =>
    patterns.some((pattern) => matchesPattern(pattern, type, 'tighten')),
  )
  return {
    names: new Set(types.flatMap(([, names]) => [...(names ?? [])])),
    coversOthers: patterns.some(coversOthers) || types.some(([, names]) => names === null),
    hasCodehost: types.some(([type]) => type.startsWith('codehost.')),
  }
}

/** Names of actions that every connector type has without a catalogue row. */
const WITHOUT_ROW = ['unmapped.post', 'tunnel.open', 'websocket.open']

function coversOthers(pattern: Pattern): boolean {
  const types = connectorTypes()
  const [type = ''] = pattern.prefix.split('.')
  if (!types.includes(type) || !pattern.prefix.includes('.')) return true
  if (WITHOUT_ROW.some((name) => matchesPattern(pattern, `${type}.${name}`, 'tighten'))) return true
  return ![...declared().keys()].some((known) => matchesPattern(pattern, known, 'tighten'))
}

const connectorTypes = once(() => [...createCatalogue().connectors])

/**
 * Declared parameter names of the catalogue rows, by action type. The value is null if a row of the action has neither
 * a template nor parameters.
 */
const declared = once(() => {
  const { connectors, rows } = createCatalogue()
  const found = new Map<string, Set<string> | null>()
  for (const connector of connectors) {
    for (const row of rows(connector)) addRow(found, row, connector)
  }
  for (const row of [...MUTATION_TABLE.values()].flat())
    addNames(found, `codehost.${row.action}`, row.parameters.values())
  for (const type of PUSHES) addNames(found, type, PUSHED)
  const ofReferences = [...PUSHES, 'codehost.branch.update'].flatMap((type) => [...(found.get(type) ?? [])])
  for (const type of BESIDE_REFERENCES) found.set(type, new Set(ofReferences))
  return found
})

/** Parameters of a pushed reference. */
const PUSHED = ['ref', 'sha', 'before']
/** Actions of pushes, which also have the parameters of the pushed reference. */
const PUSHES = ['git.push', 'branch.create', 'branch.delete'].map((name) => `codehost.${name}`)
/** Further actions of a push or of another write of a reference. They have the parameters of the main action. */
const BESIDE_REFERENCES = ['git.force_push', 'tag.create', 'ref.create'].map((name) => `codehost.${name}`)

type Declared = Map<string, Set<string> | null>

function addRow(found: Declared, row: CatalogueRow, connector: string): void {
  const { type, template = '', parameters = [] } = row
  const isUndeclared = row.template === undefined && row.parameters === undefined
  if (isUndeclared || found.get(type) === null) {
    found.set(type, null)
    return
  }
  const always = connector === 'chat' ? [...CHANNEL_FIELDS, ...FURTHER_CHANNEL_FIELDS] : []
  const inPath = [...template.matchAll(/\{([a-z][a-z0-9_]*)/g)].flatMap(([, name]) => name ?? [])
  const names = [...parameters.map(plainName), ...inPath, ...always]
  found.set(type, new Set([...(found.get(type) ?? []), ...names]))
}

function addNames(found: Declared, type: string, names: Iterable<string>): void {
  const known = found.get(type)
  if (known === undefined || known === null) return
  for (const name of names) known.add(name)
}
