import { type ActionRequest, requestOfAction } from '../../core/connectors/execute-request.ts'
import { ChaperoneError } from '../../core/errors.ts'
import { isRefusal } from '../../core/request/canonical.ts'
import { validationError } from '../http/input.ts'
import type { ActionRow } from '../store/actions.ts'
import { type GatewayRow, listGateways } from '../store/gateways.ts'
import type { Db } from '../store/query.ts'
import { type EvaluationDeps, executeSpec, type Place, placeOf } from './action-evaluation.ts'
import type { ActionRulesSource } from './action-rules.ts'
import { fileProblem } from './file-actions.ts'

export type ExecutionPlaceDeps = Pick<EvaluationDeps, 'knownAction'> & {
  readonly db: Db
  readonly rules: ActionRulesSource
  /** The address in the settings, when there is one. */
  readonly gatewayUrl: () => Promise<string | null>
}

/** Where an action is to be executed and as whom. `request` is null without a gateway that could make one. */
export type ExecutionPlace = {
  readonly place: Place
  /** The agent's name as it is now. */
  readonly agent: string
  readonly request: ActionRequest | null
}

/**
 * By the newest rules: a connector that was added a moment ago counts. An agent of no gateway in particular has the one
 * at `gateway_url`. Throws `validation` when no request can be made of the spec: before the token is touched, because
 * what is missing can only be put right by a new submission.
 */
export async function executionPlace(deps: ExecutionPlaceDeps, row: ActionRow): Promise<ExecutionPlace> {
  const problem = fileProblem(row.spec)
  if (problem !== null) throw validationError([problem])
  const rules = await deps.rules.fresh()
  const agent = rules.agent(row.agentId)
  if (agent === undefined) throw new ChaperoneError('unauthorized', { detail: 'This agent is gone' })
  const gatewayId = agent.gatewayId ?? (await gatewayOfUrl(deps))
  const place = placeOf(deps, rules, { ...agent, gatewayId }, row.spec)
  return { place, agent: agent.name, request: requestIn(place) }
}

async function gatewayOfUrl({ db, gatewayUrl }: ExecutionPlaceDeps): Promise<string | null> {
  const url = await gatewayUrl()
  return url === null ? null : (gatewayAt(url, await listGateways(db))?.id ?? null)
}

/** The gateway that is registered with this address, or the only one there is. */
function gatewayAt(text: string, gateways: readonly GatewayRow[]): GatewayRow | undefined {
  const url = URL.canParse(text) ? new URL(text) : null
  const port = Number(url?.port || (url?.protocol === 'https:' ? 443 : 80))
  const host = url?.hostname.replace(/^\[|\]$/g, '')
  const [only, ...others] = gateways
  return (
    gateways.find((row) => row.host === host && row.port === port) ?? (others.length > 0 ? undefined : only)
  )
}

function requestIn({ action, gateway }: Place): ActionRequest | null {
  const { connector, resource } = action
  if (connector === 'codehost' && resource.target === undefined) {
    throw validationError([
      'action_spec.resource.target: is required to execute, as <owner>/<repo> (or organization and repository)',
    ])
  }
  const records = gateway?.connectors.get(connector)
  if (gateway === null || records === undefined) return null
  const request = requestOfAction(records, executeSpec(action), gateway.snapshot.hosts)
  if (isRefusal(request)) throw validationError([request.detail])
  return request
}
