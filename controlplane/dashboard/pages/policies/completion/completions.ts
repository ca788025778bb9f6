import { actionCompletions, type Catalogue, typeCompletions } from './action-completions.ts'
import { conditionCompletions } from './condition-completions.ts'
import { POLICY_FIELDS, POLICY_VALUES } from './policy-language.ts'
import { placeAt, type TextPlace } from './text-place.ts'

/** One completion. `label`: text in the list. `apply`: text that is inserted, if it differs from the label. */
export type Option = {
  readonly label: string
  readonly type: 'action' | 'fact' | 'function' | 'key' | 'type' | 'value'
  readonly detail?: string
  readonly info?: string
  readonly apply?: string
}
/** Completions for the text from the offset `from` to the cursor. */
export type Completions = { readonly from: number; readonly options: readonly Option[] }

/** Paths of the fields of a policy document whose values are action names or patterns. */
const ACTIONS: ReadonlySet<string> = new Set(['scope.actions.*', 'tests.*.action.type'])
/** Paths of the fields of a policy document whose values are connector types. */
const TYPES: ReadonlySet<string> = new Set(['scope.connectors.*', 'tests.*.action.resource.provider'])

/**
 * Returns the completions at the end of `before`, which is the text up to the cursor; null if there are none. If the
 * user has typed nothing, completions are returned only if the user requests them (`isExplicit`).
 */
export async function completionsAt(
  before: string,
  catalogue: Catalogue,
  isExplicit: boolean,
): Promise<Completions | null> {
  const place = placeAt(before)
  if (place === null) return null
  if (place.path === 'rules.*.conditions.*') return conditionCompletions(place, catalogue, isExplicit)
  if (place.text === '' && !isExplicit) return null
  const fields = POLICY_FIELDS[place.path] ?? []
  if (place.kind === 'key' || (place.kind === 'item' && fields.length > 0))
    return keyCompletions(place, fields)
  return valueCompletions(place, catalogue)
}

function keyCompletions(
  { from }: TextPlace,
  fields: NonNullable<(typeof POLICY_FIELDS)[string]>,
): Completions | null {
  if (fields.length === 0) return null
  return {
    from,
    options: fields.map(({ name, info }) => ({ label: name, apply: `${name}: `, type: 'key', info })),
  }
}

async function valueCompletions(place: TextPlace, catalogue: Catalogue): Promise<Completions | null> {
  const { path, text, from } = place
  if (ACTIONS.has(path)) return actionCompletions({ text, from }, catalogue, path.startsWith('scope'))
  if (TYPES.has(path)) return { from, options: await typeCompletions(catalogue) }
  const values = POLICY_VALUES[path]
  return values === undefined ? null : { from, options: values.map((label) => ({ label, type: 'value' })) }
}
