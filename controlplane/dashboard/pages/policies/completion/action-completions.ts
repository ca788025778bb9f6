import type { NamedAction } from '../../../../../core/wire/connectors.ts'
import type { Completions, Option } from './completions.ts'

/** Action names of the installation. Each function returns an empty list if the user may not read action names. */
export type Catalogue = {
  types(): Promise<readonly string[]>
  actionsOf(type: string): Promise<readonly NamedAction[]>
}

/**
 * Returns the connector types, or, if the text begins with a connector type and a dot, the actions of this type.
 * `hasPatterns`: true to add a pattern for each group of actions, such as `codehost.pr.*`.
 */
export async function actionCompletions(
  { text, from }: { readonly text: string; readonly from: number },
  catalogue: Catalogue,
  hasPatterns: boolean,
): Promise<Completions> {
  const types = await catalogue.types()
  const type = types.find((name) => text.startsWith(`${name}.`))
  if (type === undefined) {
    const options = types.map((name): Option => ({ label: `${name}.`, type: 'type', detail: 'actions' }))
    return { from, options }
  }
  const actions = await catalogue.actionsOf(type)
  const patterns = hasPatterns ? patternsOf(actions, type) : []
  return { from, options: [...patterns, ...actions.map(actionOption)] }
}

export async function typeCompletions(catalogue: Catalogue): Promise<readonly Option[]> {
  return (await catalogue.types()).map((label) => ({ label, type: 'type' }))
}

function actionOption({ type, effect, risk, effects = [] }: NamedAction): Option {
  const info = effects.length === 0 ? {} : { info: `Effects: ${effects.join(', ')}` }
  return { label: type, type: 'action', detail: `${effect}, ${risk} risk`, ...info }
}

function patternsOf(actions: readonly NamedAction[], type: string): readonly Option[] {
  const groups = Map.groupBy(actions, ({ type: name }) => name.slice(0, name.lastIndexOf('.')))
  const all: Option = { label: `${type}.*`, type: 'action', detail: `${actions.length} actions` }
  const some = [...groups]
    .filter(([prefix, members]) => prefix !== type && members.length > 1)
    .map(
      ([prefix, { length }]): Option => ({
        label: `${prefix}.*`,
        type: 'action',
        detail: `${length} actions`,
      }),
    )
  return [all, ...some]
}
