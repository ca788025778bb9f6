import { type ActionRequest, requestOfAction } from '../../../../core/connectors/execute/execute-request.ts'
import { ChaperoneError } from '../../../../core/errors.ts'
import { isRefusal } from '../../../../core/request/canonical.ts'
import { validationError } from '../../../http/input.ts'
import type { ActionRow } from '../rows.ts'
import type { ActionRulesSource } from '../rules.ts'
import { type EvaluationDeps, executeSpec, type Place, placeOf } from '../submission/evaluation.ts'
import { fileProblem } from './file-actions.ts'

export type ExecutionPlaceDeps = Pick<EvaluationDeps, 'knownAction'> & {
  readonly rules: ActionRulesSource
}

/**
 * Connectors, gateway and agent of an execution. `request`: HTTP request of the action; null when the agent's gateway
 * has no connector for the action.
 */
export type ExecutionPlace = {
  readonly place: Place
  /** Current name of the agent. */
  readonly agent: string
  readonly request: ActionRequest | null
}

/**
 * Resolves the connectors, gateway and agent of an action under the newest rules, so that a new connector is usable as
 * soon as it is stored. Throws `validation` when no request can be built from the spec. Must be called before the
 * decision token is used, because only a new submission can correct the spec.
 */
export async function executionPlace(deps: ExecutionPlaceDeps, row: ActionRow): Promise<ExecutionPlace> {
  const problem = fileProblem(row.spec)
  if (problem !== null) throw validationError([problem])
  const rules = await deps.rules.fresh()
  const agent = rules.agent(row.agentId)
  if (agent === undefined)
    throw new ChaperoneError('unauthorized', { detail: 'This agent no longer exists.' })
  const place = placeOf(deps, rules, agent, row.spec)
  return { place, agent: agent.name, request: requestIn(place) }
}

function requestIn({ action, gateway }: Place): ActionRequest | null {
  const { connector, resource } = action
  if (connector === 'codehost' && resource.target === undefined) {
    throw validationError([
      'action_spec.resource.target: is required to execute the action; give <owner>/<repo>, or give resource.organization and resource.repository',
    ])
  }
  const records = gateway?.connectors.get(connector)
  if (gateway === null || records === undefined) return null
  const request = requestOfAction(records, executeSpec(action), gateway.snapshot.hosts)
  if (isRefusal(request)) throw validationError([request.detail])
  return request
}
