import type { Action } from '../../action/action.ts'
import { isRefusal } from '../../request/canonical.ts'
import type { CatalogueRow, Classification } from '../connector.ts'

/** Maps an operation on an issue to the operation on the pull request with the same number. */
const OF_ISSUE: Readonly<Record<string, string>> = {
  'codehost.issue.close': 'codehost.pr.close',
  'codehost.issue.update': 'codehost.pr.update',
}

type Known = ReadonlyMap<string, Pick<CatalogueRow, 'effect' | 'risk' | 'hints'>>

/**
 * Adds the pull request action to each operation on an issue, because issues and pull requests share numbers and
 * addresses. The added action is marked as possible. If the decision depends on it, a look-up finds out whether the
 * number is that of a pull request.
 */
export function withPullRequests(named: Classification, known: Known): Classification {
  if (isRefusal(named)) return named
  const add = (action: Action) => [action, ...onPullRequest(action, known)]
  return named.kind === 'candidates'
    ? { ...named, candidates: named.candidates.flatMap(add) }
    : { ...named, actions: named.actions.flatMap(add) }
}

function onPullRequest(action: Action, known: Known): readonly Action[] {
  const type = OF_ISSUE[action.type]
  const row = type === undefined ? undefined : known.get(type)
  if (type === undefined || row === undefined) return []
  const { connector, resource, parameters } = action
  const { effect, risk, hints = {} } = row
  const parts = { type, connector, effect, risk, resource, parameters, riskHints: hints }
  return [{ ...parts, isBeside: true, isPossible: true, nameReason: PULL_REQUEST_REASON.possible }]
}

export const PULL_REQUEST_REASON = {
  possible: 'The issue number may be the number of a pull request, so the rules for pull requests apply too.',
  certain: 'The issue number is the number of a pull request, so the rules for pull requests apply too.',
  unanswered:
    'The issue number may be the number of a pull request, because the look-up at the provider failed, so the rules for pull requests apply too.',
} as const
