import { randomInt } from 'node:crypto'
import type { ActionSpec } from '../../../core/action/spec.ts'
import { ChaperoneError } from '../../../core/errors.ts'
import type { SlidingWindow } from '../../../core/state/sliding-window.ts'
import { LIMITS } from '../../../core/wire/schema/limits.ts'
import type { SubmitReply } from '../../../core/wire/v1.ts'
import { newId } from '../../crypto/ids.ts'
import type { Db } from '../../db/query.ts'
import type { Actions } from '../actions/service.ts'
import { DEMO_AGENT, findAgentByName } from '../agents/rows.ts'
import { registerAgent } from '../agents/service.ts'
import type { AgentInput } from '../agents/store.ts'
import type { Actor } from '../audit/actor.ts'
import { findManagedAgent } from './demo-agent-store.ts'

export type DemoDeps = {
  readonly db: Db
  readonly orgId: string
  readonly actions: Pick<Actions, 'submit'>
  /** Limits the example actions per user, because one of the three scenarios opens an approval. */
  readonly uses: { hit(person: string): ReturnType<SlidingWindow['take']> }
}

type Scenario = { readonly label: string; readonly spec: ActionSpec }
export type DemoResult = Pick<SubmitReply, 'action_request_id' | 'decision'> & { readonly scenario: string }

const RESOURCE = { provider: 'codehost', target: 'acme/website' }
const CONTEXT = { reason: 'Started from the dashboard to see how decisions are made' }

/** Example actions that the default policies allow, hold and deny, one of each (spec 4.4). */
const SCENARIOS: readonly [Scenario, Scenario, Scenario] = [
  {
    label: 'Safe: create an issue',
    spec: {
      type: 'codehost.issue.create',
      resource: RESOURCE,
      parameters: { title: 'The footer shows last year' },
      context: CONTEXT,
    },
  },
  {
    label: 'Risky: merge a pull request',
    spec: {
      type: 'codehost.pr.merge',
      resource: { ...RESOURCE, environment: 'production' },
      parameters: { number: 42 },
      risk_hints: { production_target: true },
      context: CONTEXT,
    },
  },
  {
    label: 'Destructive: delete a branch',
    spec: {
      type: 'codehost.branch.delete',
      resource: { ...RESOURCE, environment: 'production' },
      parameters: { ref: 'heads/main' },
      risk_hints: { irreversible: true },
      context: CONTEXT,
    },
  },
]

/**
 * Submits one of the three scenarios as an action of the built-in agent, which has no credential. Null selects a
 * random scenario.
 */
export type Demo = (by: Actor, scenario: 0 | 1 | 2 | null) => Promise<DemoResult>

export function createDemo({ db, orgId, actions, uses }: DemoDeps): Demo {
  return async (by, chosen) => {
    const use = uses.hit(by.label)
    if (!use.ok) throw tooMany(use.retryAfterS)
    const { label, spec } = SCENARIOS[chosen ?? (randomInt(3) as 0 | 1 | 2)]
    const agentId = await demoAgent(db, orgId, by)
    const { action_request_id, decision } = await actions.submit({ agentId, spec })
    return { scenario: label, action_request_id, decision }
  }
}

function tooMany(retryAfterS: number): ChaperoneError {
  const most = LIMITS.controlPlaneRatePerMinute
  return new ChaperoneError('rate_limited', {
    error: 'Rate limit exceeded',
    detail: `A user can submit at most ${most} examples a minute. Try again in ${retryAfterS} s.`,
    retryAfterS,
  })
}

/**
 * Returns the id of the built-in agent and creates the agent at first use. The agent has no key and no gateway, so
 * that the policies alone decide its actions.
 */
function demoAgent(db: Db, orgId: string, by: Actor): Promise<string> {
  return db.tx(async (q) => {
    const known = await findManagedAgent(q, DEMO_AGENT.managedBy)
    if (known !== undefined) return known
    const { runtime, environment, managedBy } = DEMO_AGENT
    const isTaken = (await findAgentByName(q, DEMO_AGENT.name)) !== undefined
    const id = newId('agent')
    const name = isTaken ? `${DEMO_AGENT.name}-${id.slice(-6)}` : DEMO_AGENT.name
    const row: AgentInput = {
      id,
      orgId,
      name,
      runtime,
      environment,
      status: 'active',
      capabilities: [],
      metadata: {},
      apiKeyPrefix: null,
      apiKeySha256: null,
      gatewayId: null,
      source: 'api',
      managedBy,
      origin: 'built_in',
    }
    const details = { name, runtime, environment, built_in: true, by: by.label }
    return (await registerAgent(q, row, { actor: by, details })).id
  })
}
