import type { Action } from '../../action/action.ts'
import { isRefusal } from '../../request/canonical.ts'
import type { BodyView, Classification } from '../connector.ts'

const ACTIONS: readonly string[] = ['codehost.issue_label.add', 'codehost.issue_label.set']

/** Sets the parameter `labels` if the body is itself the list of labels, which the API accepts for these actions. */
export function withLabelList(named: Classification, body: BodyView | undefined): Classification {
  const labels = body?.kind === 'json' && Array.isArray(body.value) ? body.value : null
  if (labels === null || isRefusal(named) || named.kind === 'candidates') return named
  const add = (action: Action): Action =>
    ACTIONS.includes(action.type) ? { ...action, parameters: { ...action.parameters, labels } } : action
  return { ...named, actions: named.actions.map(add) }
}
